"""Which rows must be looked at again since the last time."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from kubesched.scheduler.columns import EVERYTHING as ALL
from kubesched.scheduler.columns import NodeTable

RowArray = npt.NDArray[np.intp]

MOST_ROWS_ONE_BY_ONE: Final = 32
"""Beyond this, it is faster to look at all rows anew."""


class Changes(msgspec.Struct, frozen=True, eq=False):
    """Rows whose node changed, and rows whose node did not but whose pods did; `everything` if it cannot be told."""

    nodes: list[int]
    pods: list[int]
    everything: bool = False


NOTHING: Final = Changes([], [])
EVERYTHING: Final = Changes([], [], everything=True)


class ChangeTracker:
    """Reads the table's journals; each call of `changes` starts where the last one ended."""

    __slots__ = ("_capacity", "_node_position", "_pod_position", "_table")

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._capacity = -1
        self._node_position = -1
        self._pod_position = -1

    def same_nodes(self) -> bool:
        """Whether no node has changed since the last call of `changes`."""
        table = self._table
        return self._node_position == table.node_changes.position and self._capacity == table.capacity

    def few_pods(self, most: int) -> list[int] | None:
        """The rows whose pods have changed, with repeats, if they are few and no node has; else `changes` must tell."""
        if not self.same_nodes():
            return None
        journal = self._table.pod_changes
        rows = journal.since(self._pod_position)
        if rows is ALL or len(rows) > most:
            return None
        self._pod_position = journal.position
        return rows

    def changes(self, *, with_pods: bool = True) -> Changes:
        """Without pods, rows whose pods alone have changed are not told, now or later."""
        table = self._table
        nodes_since, pods_since = self._node_position, self._pod_position
        self._node_position, self._pod_position = table.node_changes.position, table.pod_changes.position
        if self._capacity != table.capacity:
            self._capacity = table.capacity
            return EVERYTHING
        is_same = nodes_since == self._node_position
        if is_same and not with_pods:
            return NOTHING
        nodes = [] if is_same else table.node_changes.since(nodes_since)
        pods = table.pod_changes.since(pods_since) if with_pods else []
        if nodes is ALL or pods is ALL or len(nodes) + len(pods) > len(table):
            return EVERYTHING
        if not nodes and len(pods) <= 1:
            return Changes(nodes, pods)
        changed = set(nodes)
        return Changes(sorted(changed), sorted(set(pods) - changed))


def as_rows(rows: list[int]) -> RowArray:
    return np.array(rows, dtype=np.intp)
