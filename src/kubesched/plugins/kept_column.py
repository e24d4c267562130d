"""Columns of a plugin's own that follow from the sums of nodes' resources, kept up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from kubesched.columns import Integers, JournalReader, NodeTable, NodeView
from kubesched.plugins.amounts import Amount, column

_WORTH_KEEPING: Final = 8
"""If one row in so many has changed, all are worked out anew."""


class KeptColumn:
    """One number per row, worked out again only where a node or its pods have changed.

    That holds for views of all nodes as they are. For any other the numbers are worked out on the spot.
    """

    __slots__ = ("_column", "_compute", "_node_changes", "_pod_changes")

    def __init__(self, table: NodeTable, compute: Callable[[NodeView], Amount]) -> None:
        self._compute = compute
        self._column: Integers = np.empty(0, dtype=np.int64)
        self._node_changes = JournalReader(table.node_changes)
        self._pod_changes = JournalReader(table.pod_changes)

    def of(self, nodes: NodeView) -> Amount:
        """Don't write to it."""
        if nodes.what_if is not None or not isinstance(nodes.rows, slice):
            return self._compute(nodes)
        changed = self._changed_rows(len(nodes))
        if changed is None:
            self._column = column(self._compute(nodes), nodes)
        elif changed:
            rows = np.array(changed, dtype=np.intp)
            self._column[rows] = self._compute(nodes.cluster.view(rows))
        return self._column

    def _changed_rows(self, number: int) -> list[int] | None:
        """None: all of them, or too many."""
        by_nodes, by_pods = self._node_changes.news(), self._pod_changes.news()
        if by_nodes is None or by_pods is None or number != len(self._column):
            return None
        rows = by_nodes + by_pods
        return rows if len(rows) * _WORTH_KEEPING <= number else None
