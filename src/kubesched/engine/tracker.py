"""Which rows must be looked at again since the last time."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kubesched.columns import NodeTable

RowArray = npt.NDArray[np.intp]


class Changes(NamedTuple):
    """Rows whose node changed, and rows whose node did not but whose pods did; `everything` if it cannot be told."""

    nodes: list[int]
    pods: list[int]
    everything: bool = False


NOTHING: Final = Changes([], [])
EVERYTHING: Final = Changes([], [], everything=True)


class ChangeTracker:
    """Reads the table's journals; each call of `changes` starts where the last one ended."""

    __slots__ = ("_capacity", "_node_position", "_pending", "_pod_position", "_seen", "_table")

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._capacity = -1
        self._node_position = -1
        self._pod_position = -1
        self._seen = (-1, -1)
        self._pending = NOTHING

    def changes(self) -> Changes:
        changes = self.pending()
        table = self._table
        self._capacity = table.capacity
        self._node_position, self._pod_position = table.node_changes.position, table.pod_changes.position
        return changes

    def pending(self) -> Changes:
        """What `changes` would say, without starting anew from here. Many may ask the same in a row."""
        table = self._table
        positions = (table.node_changes.position, table.pod_changes.position)
        if positions == (self._node_position, self._pod_position):
            return NOTHING
        if positions != self._seen:
            self._seen, self._pending = positions, self._look()
        return self._pending

    def _look(self) -> Changes:
        table = self._table
        nodes = table.node_changes.since(self._node_position) if self._capacity == table.capacity else None
        pods = table.pod_changes.since(self._pod_position)
        if nodes is None or pods is None or len(nodes) + len(pods) > len(table):
            return EVERYTHING
        if not nodes and len(pods) == 1:
            return Changes(nodes, pods)
        changed = set(nodes)
        return Changes(sorted(changed), sorted(set(pods) - changed))


def as_rows(rows: list[int]) -> RowArray:
    return np.array(rows, dtype=np.intp)
