"""Columns of a plugin's own that follow from how much of some resources is taken, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from kubesched.scheduler.columns import (
    EVERYTHING,
    FEW_ROWS,
    Everything,
    Follower,
    Integers,
    NodeTable,
    NodeView,
    either,
)
from kubesched.scheduler.plugins.support.amounts import Amount, column
from kubesched.scheduler.plugins.support.capacities import Share

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
        self._node_changes = Follower(table.node_changes)
        self._pod_changes = Follower(table.pod_changes)

    def of(self, nodes: NodeView, taken: Sequence[Amount], wholes: Sequence[Share]) -> Integers:
        """For a view of all nodes as they are, with what is taken of the resources and how much there is.

        Don't write to it.
        """
        changed = self._changed_rows(len(nodes))
        if changed is EVERYTHING:
            self._column = column(self._formula(taken, wholes), nodes)
        else:
            for row in changed:
                self._column[row] = self._at(row)
        return self._column

    def _changed_rows(self, number: int) -> list[int] | Everything:
        """EVERYTHING if it is more than a few: then it is faster to work out all rows."""
        rows = either(self._node_changes.changed(), self._pod_changes.changed())
        if rows is EVERYTHING or len(rows) > FEW_ROWS or number != len(self._column):
            return EVERYTHING
        return rows

    def _at(self, row: int) -> Amount:
        ids = [self._table.resource_id(resource) for resource in self._resources]
        taken = [self._table.requested[resource].item(row) for resource in ids]
        return self._formula(taken, [float(self._table.allocatable[resource].item(row) or 1) for resource in ids])
