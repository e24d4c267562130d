"""NodePorts: a host port can be taken once per node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from typing import Final

import numpy as np

from kubesched.objects import Pod
from kubesched.scheduler.columns import Counts, NodeView, PodCount, PodInfo, PodTemplate, WhatIf
from kubesched.scheduler.columns.pod_template import ANY_ADDRESS, HostPort, port_tag
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Hint,
    PreFilterPlugin,
    Reason,
    Resource,
    Status,
    Verdict,
)
from kubesched.scheduler.plugins.support.per_template import PerSituation

NAME: Final = "NodePorts"
TAKEN: Final = Reason.unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Rejects nodes where another pod holds one of the pod's host ports."""

    name = NAME
    depends_on = DependsOn.NODE_AND_PODS

    def __init__(self, args: None, handle: Handle) -> None:
        self._cluster = handle.cluster
        self._holders = PerSituation(self._count_holders)

    def signature(self, pod: PodTemplate) -> Hashable:
        return pod.host_ports

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS if pod.template.host_ports else SKIP

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        conflicts = nodes.pods_on_node(self._holders.of(pod, self._cluster.counts.drops))
        if nodes.what_if is not None:
            conflicts = conflicts - _freed_by_others(pod, nodes, nodes.what_if)
        return Verdict.rejects(nodes, where=conflicts > 0, reason=TAKEN)

    def _count_holders(self, pod: PodTemplate) -> PodCount:
        """Pods by how many ports they hold that are in the pod's way."""
        return self._cluster.view().count(
            (NAME, pod.host_ports), _conflicts_with(pod.host_ports), tags=map(port_tag, pod.host_ports)
        )

    def events_to_register(self) -> Sequence[EventHint]:
        return (
            EventHint(ClusterEvent(Resource.POD, Action.DELETE), self._after_pod_deleted, per_template=True),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD)),
        )

    def _after_pod_deleted(self, pod: PodInfo, old: Pod, new: None) -> Hint:
        """A pod that had a node, or one reserved for it, gives back a port that the pod wants."""
        if not (old.spec.node_name or old.status.nominated_node_name):
            return Hint.SKIP
        freed = self._cluster.templates.info(old).template.host_ports
        return Hint.QUEUE if _conflicts(freed, pod.template.host_ports) else Hint.SKIP


def _freed_by_others(pod: PodTemplate, nodes: NodeView, what_if: WhatIf) -> Counts:
    """Conflicts with pods that keep their ports, but share one with a pod that is supposed to be gone.

    kube-scheduler knows a node's ports as a set: a pod that leaves frees its ports even if another pod, which should
    not be possible, holds the same ones (HostPortInfo.Remove). Those that a preemptor may evict leave all together.
    """
    freed: Counts = np.zeros(len(nodes), dtype=np.int64)
    templates = [what_if.templates[k] for k in what_if.templates_used()]
    for port in {
        port for t in templates if t is not None for port in t.host_ports if _conflicts({port}, pod.host_ports)
    }:
        gone = what_if.change(lambda other, port=port: port in other.host_ports, len(nodes)) < 0  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        keepers = nodes.count((NAME, port, pod.priority), _holds_and_keeps(port, pod.priority), tags=(port_tag(port),))
        freed += np.where(gone, keepers.rows[nodes.rows], 0)
    return freed


def _holds_and_keeps(port: HostPort, priority: int) -> Callable[[PodTemplate], int]:
    return lambda placed: placed.priority >= priority and port in placed.host_ports


def _conflicts_with(ports: frozenset[HostPort]) -> Callable[[PodTemplate], int]:
    return lambda placed: _conflicts(placed.host_ports, ports)


def _conflicts(held: Set[HostPort], wanted: frozenset[HostPort]) -> int:
    """How many of the held ports are in the way."""
    return sum(any(_collide(one, other) for one in wanted) for other in held)


def _collide(one: HostPort, other: HostPort) -> bool:
    """The same port of the same protocol, on the same address or on all addresses (HostPortInfo.CheckConflict)."""
    return one[1:] == other[1:] and (one[0] == other[0] or ANY_ADDRESS in (one[0], other[0]))
