"""NodePorts: a host port can be taken once per node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kubesched.columns import NodeView, PodInfo, PodTemplate
from kubesched.columns.pod_template import ANY_ADDRESS, HostPort
from kubesched.framework import (
    SKIP,
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    EventHint,
    FilterPlugin,
    Handle,
    Hint,
    PreFilterPlugin,
    Reach,
    Reason,
    Resource,
    Status,
    Verdict,
)
from kubesched.objects import Pod

NAME: Final = "NodePorts"
TAKEN: Final = Reason.unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Rejects nodes where another pod holds one of the pod's host ports."""

    name = NAME
    reach = Reach.ROW

    def __init__(self, args: None, handle: Handle) -> None:
        self._templates = handle.cluster.templates

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS if pod.template.host_ports else SKIP

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        holders = nodes.count((NAME, pod.host_ports), _holds_any_of(pod.host_ports))
        return Verdict.rejects(nodes, where=nodes.pods_on_node(holders) > 0, reason=TAKEN)

    def events_to_register(self) -> Sequence[EventHint]:
        return (
            EventHint(ClusterEvent(Resource.POD, Action.DELETE), self._after_pod_deleted, per_template=True),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD)),
        )

    def _after_pod_deleted(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        """A pod that had a node, or one reserved for it, gives back a port that the pod wants."""
        if old is None or not (old.spec.node_name or old.status.nominated_node_name):
            return Hint.SKIP
        freed = self._templates.info(old).template.host_ports
        return Hint.QUEUE if _conflict(pod.template.host_ports, freed) else Hint.SKIP


def _holds_any_of(ports: frozenset[HostPort]) -> Callable[[PodTemplate], int]:
    return lambda placed: _conflict(ports, placed.host_ports)


def _conflict(wanted: frozenset[HostPort], held: frozenset[HostPort]) -> bool:
    return any(_collide(one, other) for other in held for one in wanted)


def _collide(one: HostPort, other: HostPort) -> bool:
    """The same port of the same protocol, on the same address or on all addresses (HostPortInfo.CheckConflict)."""
    return one[1:] == other[1:] and (one[0] == other[0] or ANY_ADDRESS in (one[0], other[0]))
