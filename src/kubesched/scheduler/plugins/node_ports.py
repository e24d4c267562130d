"""NodePorts: a host port can be taken once per node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace

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
    PodChange,
    PreFilterPlugin,
    Reason,
    Resource,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import with_containers
from kubesched.scheduler.plugins.support.per_template import PerVersion

NAME: Final = "NodePorts"
TAKEN: Final = Reason.unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Rejects nodes where another pod holds one of the pod's host ports."""

    name = NAME
    depends_on = DependsOn.NODE_AND_PODS

    def __init__(self, args: None, handle: Handle) -> None:
        self._cluster = handle.cluster
        self._holders = PerVersion(self._count_holders)

    def signature(self, pod: PodTemplate) -> Hashable:
        return pod.host_ports

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS if pod.template.host_ports else SKIP

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        conflicts = nodes.pods_on_node(self._holders.of(pod, self._cluster.counts.drops))
        if nodes.what_if is not None:
            conflicts = conflicts - _freed_by_others(pod, nodes, nodes.what_if)
        return Verdict.rejects(nodes, where=conflicts > 0, reason=TAKEN)

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        spec = pod.spec
        if any(port.host_port for container in spec.containers + spec.init_containers for port in container.ports):
            yield PodChange(
                "had no host ports", partial(with_containers, lambda container: replace(container, ports=()))
            )

    def _count_holders(self, pod: PodTemplate) -> PodCount:
        """Pods by how many ports they hold that are in the pod's way."""
        wanted = _Ports(pod.host_ports)
        return self._cluster.view().count(
            (NAME, pod.host_ports),
            lambda placed: wanted.collisions(placed.host_ports),
            tags=map(port_tag, pod.host_ports),
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
        return Hint.QUEUE if _Ports(freed).collisions(pod.template.host_ports) else Hint.SKIP


class _Ports:
    """Ports that a pod holds or wants, found by what two ports must have in common to collide."""

    def __init__(self, ports: Iterable[HostPort]) -> None:
        self._addresses: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for port in ports:
            self._addresses[port_tag(port)].add(port[0])

    def collide(self, other: HostPort) -> bool:
        """The same port of the same protocol, on the same address or on all addresses (HostPortInfo.CheckConflict)."""
        addresses = self._addresses.get(port_tag(other))
        if addresses is None:
            return False
        return other[0] == ANY_ADDRESS or other[0] in addresses or ANY_ADDRESS in addresses

    def collisions(self, others: Iterable[HostPort]) -> int:
        """How many of the others are in the way."""
        return sum(map(self.collide, others)) if self._addresses else 0


def _freed_by_others(pod: PodTemplate, nodes: NodeView, what_if: WhatIf) -> Counts:
    """Conflicts with pods that keep their ports, but share one with a pod that is supposed to be gone.

    kube-scheduler knows a node's ports as a set: a pod that leaves frees its ports even if another pod, which should
    not be possible, holds the same ones (HostPortInfo.Remove). Those that a preemptor may evict leave all together.
    """
    freed: Counts = np.zeros(len(nodes), dtype=np.int64)
    for ports in _leaving_together(_Ports(pod.host_ports), what_if):
        one = next(iter(ports))
        gone = what_if.change(lambda other, one=one: one in other.host_ports, len(nodes)) < 0  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        keepers = nodes.count(
            (NAME, ports, pod.priority), _held_and_kept(ports, pod.priority), tags=map(port_tag, ports)
        )
        freed += np.where(gone, keepers.rows[nodes.rows], 0)
    return freed


def _leaving_together(wanted: _Ports, what_if: WhatIf) -> list[frozenset[HostPort]]:
    """The ports in the pod's way that pods of the "what if" hold, those that the same templates hold together."""
    holders: defaultdict[HostPort, list[int]] = defaultdict(list)
    for number in what_if.templates_used().tolist():
        template = what_if.templates[number]
        for port in template.host_ports if template is not None else ():
            if wanted.collide(port):
                holders[port].append(number)
    together: defaultdict[tuple[int, ...], list[HostPort]] = defaultdict(list)
    for port, numbers in holders.items():
        together[tuple(numbers)].append(port)
    return [frozenset(ports) for ports in together.values()]


def _held_and_kept(ports: frozenset[HostPort], priority: int) -> Callable[[PodTemplate], int]:
    """How many of the ports a pod holds that is not evicted."""
    return lambda placed: len(ports & placed.host_ports) if placed.priority >= priority else 0
