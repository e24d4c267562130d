"""NodeUnschedulable: a cordoned node takes only pods that tolerate being there."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Final

from kubesched.config.behaviours import NODE_CHECKS_PRE_FILTER
from kubesched.objects import Node, Pod
from kubesched.objects.affinity import Taint
from kubesched.objects.tolerations import Tolerations
from kubesched.scheduler.columns import NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Hint,
    PreFilterPlugin,
    Reason,
    Resource,
    Status,
    Verdict,
)

NAME: Final = "NodeUnschedulable"
UNSCHEDULABLE: Final = Reason.unresolvable("node(s) were unschedulable")
UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(PreFilterPlugin, FilterPlugin):
    """A cordoned node takes only pods that tolerate the unschedulable taint."""

    name = NAME
    points_since: ClassVar = {"preFilter": NODE_CHECKS_PRE_FILTER}
    depends_on = DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        return pod.spec.tolerations

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        if pod.tolerates(UNSCHEDULABLE_TAINT):
            return Verdict.fits(nodes)
        return Verdict.rejects(nodes, where=nodes.unschedulable, reason=UNSCHEDULABLE)

    def events_to_register(self) -> Sequence[EventHint]:
        return (
            EventHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT), _node_opened, per_template=True
            ),
            EventHint(ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATION), _now_tolerated),
        )


def _node_opened(pod: PodInfo, old: Node | None, new: Node) -> Hint:
    was_closed = old is None or old.spec.unschedulable
    return Hint.QUEUE if was_closed and not new.spec.unschedulable else Hint.SKIP


def _now_tolerated(pod: PodInfo, old: Pod, new: Pod) -> Hint:
    if new.metadata.uid != pod.uid:
        return Hint.SKIP
    tolerated = Tolerations(new.spec.tolerations).tolerate(UNSCHEDULABLE_TAINT)
    return Hint.QUEUE if tolerated else Hint.SKIP
