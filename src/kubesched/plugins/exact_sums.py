"""What is taken of nodes' resources, as floats that hold it exactly: else formulas spend their time on turning it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from kubesched.columns import Floats, Integers, JournalReader, NodeTable, NodeView
from kubesched.columns.types import cells
from kubesched.framework import Handle
from kubesched.objects.resource_names import CPU, MEMORY
from kubesched.plugins.amounts import Amount, amount
from kubesched.plugins.capacities import LARGEST_EXACT, Capacity

_MOST_ROWS_ONE_BY_ONE: Final = 8
"""Beyond this, it is faster to turn all rows anew."""


class ExactSums:
    """Sums over the pods of each node, kept up to date as floats for views of all nodes as they are.

    For other views, and where a float could not hold them together with a pod's request, they are what the view says.
    Don't write to them.
    """

    def __init__(self, table: NodeTable) -> None:
        self._requested = _FloatColumns(table, _REQUESTED)
        self._nonzero = _FloatColumns(table, _NONZERO)

    @classmethod
    def shared(cls, handle: Handle) -> ExactSums:
        """Those of all plugins and profiles."""
        return handle.objects.derived(cls, lambda: cls(handle.cluster.nodes))

    def requested(self, resource: str, request: int, nodes: NodeView, capacity: Capacity) -> Amount:
        """What pods request."""
        floats = self._requested.of(resource) if _stays_exact(request, nodes, capacity) else None
        return amount(nodes.requested(resource)) if floats is None else floats[nodes.rows]

    def used(self, resource: str, request: int, nodes: NodeView, capacity: Capacity) -> Amount:
        """The same, where a container without a request for cpu or memory counts for a little."""
        if resource not in _NONZERO:
            return self.requested(resource, request, nodes, capacity)
        floats = self._nonzero.of(resource) if _stays_exact(request, nodes, capacity) else None
        if floats is not None:
            return floats[nodes.rows]
        return amount(nodes.nonzero_cpu if resource == CPU else nodes.nonzero_memory)


def _stays_exact(request: int, nodes: NodeView, capacity: Capacity) -> bool:
    return capacity.floats is not None and nodes.what_if is None and request <= LARGEST_EXACT


_Sources = Mapping[str, Callable[[NodeTable], Integers]]

_NONZERO: Final[_Sources] = {CPU: lambda table: table.nonzero_cpu, MEMORY: lambda table: table.nonzero_memory}
_REQUESTED: Final[_Sources] = {
    CPU: lambda table: np.asarray(table.requested[table.resource_id(CPU)]),
    MEMORY: lambda table: np.asarray(table.requested[table.resource_id(MEMORY)]),
}


class _FloatColumns:
    """Columns of the table that change with the pods only, as floats."""

    __slots__ = ("_capacity", "_cells", "_changes", "_floats", "_sources", "_table")

    def __init__(self, table: NodeTable, sources: _Sources) -> None:
        self._table = table
        self._sources = sources
        self._changes = JournalReader(table.pod_changes)
        self._capacity = -1
        self._floats: dict[str, Floats | None] = {}
        self._cells: list[tuple[memoryview, memoryview]] = []  # of a column, and of the floats that follow it

    def of(self, resource: str) -> Floats | None:
        """None if a float could not hold some entry, or for resources that few nodes have."""
        rows = self._changes.news()
        if rows is None or len(rows) > _MOST_ROWS_ONE_BY_ONE or self._capacity != self._table.capacity:
            self._forget()
        else:
            for row in rows:
                self._follow(row)
        if resource not in self._floats:
            self._floats[resource] = self._made(resource)
        return self._floats[resource]

    def _follow(self, row: int) -> None:
        for source, floats in self._cells:
            floats[row] = taken = source[row]
            if taken > LARGEST_EXACT:
                self._forget()
                return

    def _forget(self) -> None:
        self._floats.clear()
        self._cells.clear()
        self._capacity = self._table.capacity

    def _made(self, resource: str) -> Floats | None:
        source = self._sources.get(resource)
        if source is None:
            return None
        column = source(self._table)
        if np.maximum.reduce(column) > LARGEST_EXACT:
            return None
        floats = column.astype(np.float64)
        self._cells.append((cells(column), floats.data))
        return floats
