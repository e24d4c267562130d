"""The NUMA zones of all nodes, in columns: rows × zones × resources. Only rows of nodes that changed are written."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.contrib.node_resource_topology.sources import TopologySource
from kubesched.contrib.node_resource_topology.topology import POD_SCOPE, SINGLE_NUMA_NODE, Topology
from kubesched.framework import (
    EVERYTHING,
    Booleans,
    ClusterTables,
    Follower,
    Integers,
    NodeView,
    Positions,
    is_scalar_resource,
)

ABSENT: Final = -1
"""The amount of a resource that a zone does not list, and the id of a zone that there is not."""
UNKNOWN_DISTANCE: Final = 255

NO_TOPOLOGY: Final = 0
STALE: Final = 1
SINGLE_BY_POD: Final = 2
SINGLE_BY_CONTAINER: Final = 3
OTHER_BY_POD: Final = 4
OTHER_BY_CONTAINER: Final = 5
"""The kinds of rows: by the policy (single-numa-node, or another) and the scope of the node's topology manager."""

_ALWAYS_OFFERED: Final = ("cpu", "memory", "pods", "ephemeral-storage")


class Zones:
    """What is known of the zones of each row of the node table. `refresh` before anything is read."""

    def __init__(self, source: TopologySource, cluster: ClusterTables) -> None:
        self._source = source
        self._table = cluster.nodes
        self._changed = Follower(source.changes)
        self._nodes_changed = Follower(cluster.nodes.node_changes)
        self._written: list[Topology | None] = []
        self._offered: dict[str, Booleans] = {}
        self.resources: dict[str, int] = {}
        """The resources that zones list, with their places in `available`."""
        self.kinds: Integers = np.zeros(0, dtype=np.int64)
        self.most_numa_nodes: Integers = np.ones(0, dtype=np.int64)
        self.ids: Integers = np.full((0, 1), ABSENT, dtype=np.int64)
        self.distances: Integers = np.full((0, 1, 1), UNKNOWN_DISTANCE, dtype=np.int64)
        self.available: Integers = np.full((0, 1, 1), ABSENT, dtype=np.int64)
        """In thousandths."""

    def refresh(self) -> None:
        """Follow what has changed: topologies, what is reserved there, and nodes."""
        names, rows = self._changed.changed(), self._nodes_changed.changed()
        table = self._table
        if len(self._written) < len(table):
            self._make_room(rows=max(table.capacity, len(table)))
        if names is EVERYTHING or rows is EVERYTHING:
            changed = range(len(table))
            self._offered = {}
        else:
            found = [table.row_of.get(name) for name in names]
            changed = sorted({*rows, *[row for row in found if row is not None]})  # type: ignore[assignment]
            for name in self._offered if rows else ():
                self._offered[name][rows] = [self._offers(row, name) for row in rows]
        for row in changed:
            self._write(row)

    def offered(self, nodes: NodeView, resource: str) -> Booleans:
        """Which rows' nodes list a resource among what they offer, be it none of it."""
        if resource in _ALWAYS_OFFERED or not is_scalar_resource(resource):
            return np.full(len(nodes), resource in _ALWAYS_OFFERED)
        column = self._offered.get(resource)
        if column is None or len(column) < len(self._table):
            column = np.zeros(self._table.capacity, dtype=np.bool_)
            column[: len(self._table)] = [self._offers(row, resource) for row in range(len(self._table))]
            self._offered[resource] = column
        return column[nodes.rows]

    def rows_of(self, names: list[str]) -> Positions:
        """The rows of these nodes, in order; those that are not in the table are left out."""
        row_of = self._table.row_of
        return np.array(sorted({row_of[name] for name in names if name in row_of}), dtype=np.intp)

    def _offers(self, row: int, resource: str) -> bool:
        node = self._table.nodes[row]
        return node is not None and resource in node.status.allocatable

    # ---- one row -------------------------------------------------------------------------------------------------

    def _write(self, row: int) -> None:
        name = self._table.names[row]
        topology = self._source.topology(name)
        if topology is not self._written[row]:
            self._write_topology(row, topology)
        if not self._source.is_fresh(name):
            self.kinds[row] = STALE
        elif topology is not None:
            self.kinds[row] = _kind(topology)
            self._write_available(row, topology, name)
        else:
            self.kinds[row] = NO_TOPOLOGY

    def _write_topology(self, row: int, topology: Topology | None) -> None:
        self._written[row] = topology
        self.ids[row] = self.available[row] = ABSENT
        self.distances[row] = UNKNOWN_DISTANCE
        if topology is None:
            return
        for one in topology.numa_nodes:
            for name in one.available:
                self.resources.setdefault(name, len(self.resources))
        self._make_room(zones=len(topology.numa_nodes), resources=len(self.resources))
        self.most_numa_nodes[row] = topology.manager.most_numa_nodes
        for zone, one in enumerate(topology.numa_nodes):
            self.ids[row, zone] = one.id
            for other, another in enumerate(topology.numa_nodes):
                self.distances[row, zone, other] = one.costs.get(another.id, UNKNOWN_DISTANCE)

    def _write_available(self, row: int, topology: Topology, name: str) -> None:
        reserved = self._source.reserved(name)
        for zone, one in enumerate(topology.numa_nodes):
            for resource, amount in one.available.items():
                left = max(amount - reserved.get(resource, 0), 0) if reserved else amount
                self.available[row, zone, self.resources[resource]] = left

    def _make_room(self, *, rows: int = 0, zones: int = 0, resources: int = 0) -> None:
        have_rows, have_zones, have_resources = self.available.shape
        rows, zones, resources = max(rows, have_rows), max(zones, have_zones), max(resources, have_resources)
        if (rows, zones, resources) == self.available.shape:
            return
        self._written += [None] * (rows - have_rows)
        self.kinds = _grown(self.kinds, (rows,), NO_TOPOLOGY)
        self.most_numa_nodes = _grown(self.most_numa_nodes, (rows,), 1)
        self.ids = _grown(self.ids, (rows, zones), ABSENT)
        self.distances = _grown(self.distances, (rows, zones, zones), UNKNOWN_DISTANCE)
        self.available = _grown(self.available, (rows, zones, resources), ABSENT)


def _kind(topology: Topology) -> int:
    by_pod = topology.manager.scope == POD_SCOPE
    if topology.manager.policy == SINGLE_NUMA_NODE:
        return SINGLE_BY_POD if by_pod else SINGLE_BY_CONTAINER
    return OTHER_BY_POD if by_pod else OTHER_BY_CONTAINER


def _grown(column: Integers, shape: tuple[int, ...], fill: int) -> Integers:
    larger = np.full(shape, fill, dtype=np.int64)
    larger[tuple(slice(0, length) for length in column.shape)] = column
    return larger
