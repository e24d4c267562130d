"""What is taken of nodes' resources, as floats that hold it exactly: else formulas spend their time on turning it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np

from kubesched.objects.resource_names import CPU, MEMORY
from kubesched.scheduler.columns import EVERYTHING, FEW_ROWS, Floats, Follower, Integers, NodeTable, NodeView
from kubesched.scheduler.columns.types import cells
from kubesched.scheduler.framework import Handle
from kubesched.scheduler.plugins.support.amounts import Amount, amount
from kubesched.scheduler.plugins.support.capacities import LARGEST_EXACT, Capacity


class ExactSums:
    """Sums over the pods of each node, kept up to date as floats for views of all nodes as they are.

    For other views, and where a float could not hold them together with a pod's request, they are what the view says.
    Don't write to them.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._changes = Follower(table.pod_changes)
        self._capacity = -1
        self._floats: dict[Source, Floats | None] = {}  # None: a float could not hold some entry
        self._cells: list[tuple[memoryview, memoryview]] = []  # of a column, and of the floats that follow it

    @classmethod
    def shared(cls, handle: Handle) -> ExactSums:
        """Those of all plugins and profiles."""
        return handle.objects.derived(cls, lambda: cls(handle.cluster.nodes))

    def requested(self, resource: str, request: int, nodes: NodeView, capacity: Capacity) -> Amount:
        """What pods request."""
        floats = None
        if resource in _REQUESTED and _stays_exact(request, nodes, capacity):
            floats = self._as_floats(_REQUESTED[resource])
        return amount(nodes.requested(resource)) if floats is None else floats[nodes.rows]

    def used(self, resource: str, request: int, nodes: NodeView, capacity: Capacity) -> Amount:
        """The same, where a container without a request for cpu or memory counts for a little."""
        if resource not in _NONZERO:
            return self.requested(resource, request, nodes, capacity)
        floats = self._as_floats(_NONZERO[resource]) if _stays_exact(request, nodes, capacity) else None
        if floats is not None:
            return floats[nodes.rows]
        return amount(nodes.nonzero_cpu if resource == CPU else nodes.nonzero_memory)

    def _as_floats(self, source: Source) -> Floats | None:
        if not self._changes.is_current or self._capacity != self._table.capacity:
            self._catch_up()
        if source not in self._floats:
            self._floats[source] = self._made(source(self._table))
        return self._floats[source]

    def _catch_up(self) -> None:
        rows = self._changes.changed()
        if rows is EVERYTHING or len(rows) > FEW_ROWS or self._capacity != self._table.capacity:
            self._forget()
            return
        for source, floats in self._cells:
            for row in rows:
                floats[row] = taken = source[row]
                if taken > LARGEST_EXACT:
                    self._forget()
                    return

    def _forget(self) -> None:
        self._floats = {}
        self._cells = []
        self._capacity = self._table.capacity

    def _made(self, column: Integers) -> Floats | None:
        if np.maximum.reduce(column) > LARGEST_EXACT:
            return None
        floats = column.astype(np.float64)
        self._cells.append((cells(column), floats.data))
        return floats


def _stays_exact(request: int, nodes: NodeView, capacity: Capacity) -> bool:
    return capacity.floats is not None and nodes.what_if is None and request <= LARGEST_EXACT


Source: TypeAlias = Callable[[NodeTable], Integers]
"""Where a column of the table is, until the table grows."""

_NONZERO: Final[Mapping[str, Source]] = {
    CPU: lambda table: table.nonzero_cpu,
    MEMORY: lambda table: table.nonzero_memory,
}
_REQUESTED: Final[Mapping[str, Source]] = {
    CPU: lambda table: np.asarray(table.requested[table.resource_id(CPU)]),
    MEMORY: lambda table: np.asarray(table.requested[table.resource_id(MEMORY)]),
}
