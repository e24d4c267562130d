"""Columns of a plugin's own that follow from how much of some resources is taken, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from kubesched.scheduler.columns import Integers, JournalReader, NodeTable, NodeView
from kubesched.scheduler.plugins.support.amounts import Amount, column
from kubesched.scheduler.plugins.support.capacities import Share

_MOST_ROWS_ONE_BY_ONE: Final = 8
"""Beyond this, it is faster to compute all rows again."""

Formula: TypeAlias = Callable[[Sequence[Amount], Sequence[Share]], Amount]
"""(what is taken of each resource, how much there is) -> one number per row, in an array of its own."""


class KeptColumn:
    """What a formula makes of some resources, worked out again only where a node or its pods have changed."""

    __slots__ = ("_column", "_formula", "_node_changes", "_pod_changes", "_resources", "_table")

    def __init__(self, resources: Sequence[str], formula: Formula, table: NodeTable) -> None:
        self._resources = resources
        self._formula = formula
        self._table = table
        self._column: Integers = np.empty(0, dtype=np.int64)
        self._node_changes = JournalReader(table.node_changes)
        self._pod_changes = JournalReader(table.pod_changes)

    def of(self, nodes: NodeView, taken: Sequence[Amount], wholes: Sequence[Share]) -> Integers:
        """For a view of all nodes as they are, with what is taken of the resources and how much there is.

        Don't write to it.
        """
        changed = self._changed_rows(len(nodes))
        if changed is None:
            self._column = column(self._formula(taken, wholes), nodes)
        else:
            for row in changed:
                self._column[row] = self._at(row)
        return self._column

    def _changed_rows(self, number: int) -> list[int] | None:
        """None: all of them, or many."""
        by_nodes, by_pods = self._node_changes.news(), self._pod_changes.news()
        if by_nodes is None or by_pods is None or number != len(self._column):
            return None
        rows = by_nodes + by_pods
        return rows if len(rows) <= _MOST_ROWS_ONE_BY_ONE else None

    def _at(self, row: int) -> Amount:
        ids = [self._table.resource_id(resource) for resource in self._resources]
        taken = [self._table.requested[resource].item(row) for resource in ids]
        return self._formula(taken, [float(self._table.allocatable[resource].item(row) or 1) for resource in ids])
