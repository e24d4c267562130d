"""NodeName: a pod that asks for a node by name goes nowhere else."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from kubesched.scheduler.columns import NodeView, PodTemplate
from kubesched.scheduler.framework import (
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Reason,
    Resource,
    Verdict,
)

NAME: Final = "NodeName"
OTHER_NODE: Final = Reason.unresolvable("node(s) didn't match the requested node name")


class NodeName(FilterPlugin):
    """Rejects every node but the one that the pending pod names."""

    name = NAME
    depends_on = DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        return pod.wanted_node

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
