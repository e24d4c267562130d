"""Which topology a node has, now: as it was reported last, or as it must be taken to be until the next report.

A report comes some time after a pod has started. Meanwhile more pods might be sent to a zone that is taken already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubesched.contrib.node_resource_topology.topology import NodeResourceTopology, Topology, topology_of
from kubesched.framework import Handle, Journal, Pod

_NOTHING: Mapping[str, int] = {}


class TopologySource:
    """The topologies as they are reported, whatever was placed since (`Passthrough`). Others refine it."""

    counts_reservations = False
    """Whether `reserve` and `unreserve` have any effect."""

    def __init__(self, handle: Handle) -> None:
        self._reports = handle.informer(NodeResourceTopology)
        self._read: dict[str, tuple[NodeResourceTopology, Topology]] = {}
        self.changes: Journal[str] = self._reports.changes
        """The names of nodes of which something else is known than before."""

    def refresh(self) -> None:
        """Follow what has happened. To be called before anything is read."""

    def report(self, node_name: str) -> NodeResourceTopology | None:
        """The report that counts."""
        return self._reports.get(node_name)

    def topology(self, node_name: str) -> Topology | None:
        """The same object for as long as the report is the same."""
        report = self.report(node_name)
        if report is None:
            self._read.pop(node_name, None)
            return None
        known = self._read.get(node_name)
        if known is None or known[0] is not report:
            known = self._read[node_name] = (report, topology_of(report))
        return known[1]

    def is_fresh(self, node_name: str) -> bool:
        """If not, the node takes no pods until it is known better."""
        return True

    def reserved(self, node_name: str) -> Mapping[str, int]:
        """What pods that came after the report ask for together: any zone may have to give it."""
        return _NOTHING

    def reserve(self, pod: Pod, node_name: str) -> None:
        """A pod was given the node."""

    def unreserve(self, pod: Pod, node_name: str) -> None:
        """It was not, after all. Idempotent."""

    def bound(self, pod: Pod, node_name: str) -> None:
        """The binding has succeeded."""

    def rejected(self, node_names: Iterable[str]) -> None:
        """Zones of these nodes had no room for a pod."""

    def take_over(self, previous: Any) -> None:
        """Go on where a source of the same class was."""


class DiscardReserved(TopologySource):
    """A node takes no further pod while one is on its way there (`discardReservedNodes`)."""

    counts_reservations = True

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._on_their_way: dict[str, set[str]] = {}
        self.changes = Journal()
        self._reports.subscribe(self._reported)

    def is_fresh(self, node_name: str) -> bool:
        return node_name not in self._on_their_way

    def reserve(self, pod: Pod, node_name: str) -> None:
        self._on_their_way.setdefault(node_name, set()).add(pod.metadata.uid)
        self.changes.append(node_name)

    def unreserve(self, pod: Pod, node_name: str) -> None:
        pods = self._on_their_way.get(node_name, set())
        pods.discard(pod.metadata.uid)
        if not pods:
            self._on_their_way.pop(node_name, None)
        self.changes.append(node_name)

    bound = unreserve

    def take_over(self, previous: Any) -> None:
        if isinstance(previous, DiscardReserved):
            self._on_their_way = previous._on_their_way

    def _reported(self, old: NodeResourceTopology | None, new: NodeResourceTopology | None) -> None:
        reported = new or old
        assert reported is not None  # an event is about something
        self.changes.append(reported.metadata.name)
