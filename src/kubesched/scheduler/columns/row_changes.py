"""Which rows of the node table changed since the last time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from kubesched.scheduler.columns.journal import EVERYTHING, Everything
from kubesched.scheduler.columns.types import Positions

if TYPE_CHECKING:
    from kubesched.scheduler.columns.node_table import NodeTable

MANY_ROWS: Final = 128
"""If more rows than this have changed, it is faster to combine what is known about all of them again."""
_SHARE: Final = 8
"""If one row in so many has changed, too, the others are not worth more than a new start."""


class RowChanges(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Rows whose node changed, and rows whose node did not but whose pods did. Each at most once."""

    nodes: list[int]
    pods: list[int]


NOTHING: Final = RowChanges([], [])


class RowFollower:
    """Follows both journals of the table. EVERYTHING too if the table has grown, or if too many rows have changed."""

    __slots__ = ("_capacity", "_node_position", "_pod_position", "_table")

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._capacity = -1
        self._node_position = -1
        self._pod_position = -1

    def changed(self, with_pods: bool = True) -> RowChanges | Everything:
        """What changed since the last call. Without pods, those are not reported later, either."""
        # Every layer of answers does this for every pod: the journals are read without a `Follower` for each.
        table = self._table
        nodes_since, pods_since = self._node_position, self._pod_position
        self._pod_position = table.pod_changes.position
        nodes: list[int] | Everything = []
        if nodes_since == table.node_changes.position and self._capacity == table.capacity:
            if not with_pods or pods_since == self._pod_position:
                return NOTHING
        else:
            self._node_position = table.node_changes.position
            if self._capacity != table.capacity:
                self._capacity = table.capacity
                return EVERYTHING
            nodes = table.node_changes.since(nodes_since)
        pods = table.pod_changes.since(pods_since) if with_pods else []
        if nodes is EVERYTHING or pods is EVERYTHING:
            return EVERYTHING
        if not nodes and len(pods) == 1:
            return RowChanges(nodes, pods)
        changed = set(nodes)
        changes = RowChanges(sorted(changed), sorted(set(pods) - changed))
        return EVERYTHING if too_many(len(changes.nodes) + len(changes.pods), len(table)) else changes


def too_many(changed: int, rows: int) -> bool:
    """Whether so many of the rows have changed that it is better to start over than to catch up."""
    return changed > max(MANY_ROWS, rows // _SHARE)


def as_rows(rows: list[int]) -> Positions:
    return np.array(rows, dtype=np.intp)
