"""Columns of a plugin's own that follow from how much of some resources is taken, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from kubesched.columns import Integers, JournalReader, NodeTable, NodeView
from kubesched.plugins.amounts import Amount, amount, column
from kubesched.plugins.capacities import Capacities, Share

_MOST_ROWS_ONE_BY_ONE: Final = 8
"""Beyond this, it is faster to work out all rows anew."""

Formula: TypeAlias = Callable[[Sequence[Amount], Sequence[Share]], Amount]
"""(what is taken of each resource, how much there is) -> one number per row, in an array of its own."""


class KeptColumn:
    """What a formula makes of some resources, worked out again only where a node or its pods have changed.

    That holds for views of all nodes as they are. For any other the numbers are worked out on the spot.
    """

    __slots__ = ("_capacities", "_column", "_formula", "_node_changes", "_pod_changes", "_resources", "_table")

    def __init__(self, resources: Sequence[str], formula: Formula, table: NodeTable, capacities: Capacities) -> None:
        self._resources = resources
        self._formula = formula
        self._table = table
        self._capacities = capacities
        self._column: Integers = np.empty(0, dtype=np.int64)
        self._node_changes = JournalReader(table.node_changes)
        self._pod_changes = JournalReader(table.pod_changes)

    def of(self, nodes: NodeView) -> Amount:
        """Don't write to it."""
        if nodes.what_if is not None or not isinstance(nodes.rows, slice):
            return self._work_out(nodes)
        changed = self._changed_rows(len(nodes))
        if changed is None:
            self._column = column(self._work_out(nodes), nodes)
        else:
            for row in changed:
                self._column[row] = self._work_out_row(row)
        return self._column

    def _changed_rows(self, number: int) -> list[int] | None:
        """None: all of them, or many."""
        by_nodes, by_pods = self._node_changes.news(), self._pod_changes.news()
        if by_nodes is None or by_pods is None or number != len(self._column):
            return None
        rows = by_nodes + by_pods
        return rows if len(rows) <= _MOST_ROWS_ONE_BY_ONE else None

    def _work_out(self, nodes: NodeView) -> Amount:
        taken = [amount(nodes.requested(resource)) for resource in self._resources]
        return self._formula(taken, [self._capacities.of(resource, nodes).whole for resource in self._resources])

    def _work_out_row(self, row: int) -> Amount:
        ids = [self._table.resource_id(resource) for resource in self._resources]
        taken = [self._table.requested[resource].item(row) for resource in ids]
        return self._formula(taken, [float(self._table.allocatable[resource].item(row) or 1) for resource in ids])
