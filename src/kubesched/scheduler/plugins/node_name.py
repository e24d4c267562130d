"""NodeName: a pod that asks for a node by name goes nowhere else."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Final

import numpy as np

from kubesched.config.behaviours import NODE_CHECKS_PRE_FILTER
from kubesched.scheduler.columns import NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Reason,
    Resource,
    Status,
    Verdict,
)

NAME: Final = "NodeName"
OTHER_NODE: Final = Reason.unresolvable("node(s) didn't match the requested node name")


class NodeName(PreFilterPlugin, FilterPlugin):
    """Rejects every node but the one that the pending pod names."""

    name = NAME
    points_since: ClassVar = {"preFilter": NODE_CHECKS_PRE_FILTER}
    depends_on = DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        return pod.wanted_node

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[PreFilterResult, Status]:
        wanted = pod.template.wanted_node
        return PreFilterResult(frozenset((wanted,)) if wanted else None), SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        if not pod.wanted_node:
            return Verdict.fits(nodes)
        is_other = np.ones(len(nodes), dtype=np.bool_)
        position = nodes.position_of(pod.wanted_node)
        if position is not None:
            is_other[position] = False
        return Verdict.rejects(nodes, where=is_other, reason=OTHER_NODE)

    def events_to_register(self) -> Sequence[EventHint]:
        return (EventHint(ClusterEvent(Resource.NODE, Action.ADD)),)
