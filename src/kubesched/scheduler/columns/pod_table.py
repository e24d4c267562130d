"""One row per placed pod: which node's row it is on, its template and its priority."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kubesched.scheduler.columns.pod_template import PodInfo, PodTemplate
from kubesched.scheduler.columns.types import ABSENT, Booleans, Counts, Floats, Ids, cells, grown

_FIRST_CAPACITY = 64
_NOT_STARTED = float("inf")


class PodTable:
    """The placed pods in columns, assumed ones included. Only `ClusterTables` writes to it.

    A *slot* is the small id of a template that has pods here; per-template facts become arrays indexed by slot.
    """

    def __init__(self) -> None:
        self.capacity = _FIRST_CAPACITY
        self.infos: list[PodInfo | None] = []
        self.node_row: Ids = np.full(self.capacity, ABSENT, dtype=np.int32)
        self.slot: Ids = np.zeros(self.capacity, dtype=np.int32)
        self.priority: Ids = np.zeros(self.capacity, dtype=np.int32)
        self.terminating: Booleans = np.zeros(self.capacity, dtype=np.bool_)
        self.start_time: Floats = np.full(self.capacity, _NOT_STARTED, dtype=np.float64)
        self._cells = (cells(self.node_row), cells(self.slot), cells(self.priority))
        self.templates: list[PodTemplate | None] = []  # by slot
        self.slot_of: dict[PodTemplate, int] = {}
        self._rows_in_slot: list[set[int]] = []
        self._row_of: dict[str, int] = {}
        self._on_node: dict[int, dict[int, None]] = {}  # by node row: the rows of its pods, as they were placed
        self._free_rows: list[int] = []
        self._free_slots: list[int] = []

    def __len__(self) -> int:
        return len(self._row_of)

    def on_node(self, node_row: int) -> Sequence[PodInfo]:
        """The pods on a node, in the order in which they were placed."""
        rows = self._on_node.get(node_row, ())
        return tuple([info for row in rows if (info := self.infos[row]) is not None])

    def row_of(self, uid: str) -> int | None:
        return self._row_of.get(uid)

    def used(self) -> slice:
        """All rows that are or were in use; unused ones have `node_row` ABSENT."""
        return slice(0, len(self.infos))

    def by_slot(self, weigh: Callable[[PodTemplate], int]) -> Counts:
        """`weigh` of each template that has pods here, as an array by slot."""
        return np.fromiter((weigh(t) if t is not None else 0 for t in self.templates), np.int64, len(self.templates))

    def per_node(self, weights: Counts, nodes: int, *, with_terminating: bool = True) -> Counts:
        """Sum of a per-slot weight over the pods of each node row. It costs as much as there are pods that count."""
        pods = [row for slot in np.flatnonzero(weights) for row in self._rows_in_slot[slot]]
        counted = np.array(pods, dtype=np.intp)
        if not with_terminating:
            counted = counted[~self.terminating[counted]]
        totals = np.zeros(nodes, dtype=np.int64)
        np.add.at(totals, self.node_row[counted], weights[self.slot[counted]])
        return totals

    # ---- written by ClusterTables ----

    def add(self, info: PodInfo, node_row: int, slot: int) -> None:
        """`slot` is that of the pod's template."""
        row = self._take_row()
        pod = info.pod
        self._rows_in_slot[slot].add(row)
        self.infos[row] = info
        node_rows, slots, priorities = self._cells
        node_rows[row], slots[row], priorities[row] = node_row, slot, info.template.priority
        if pod.metadata.deletion_timestamp is not None:
            self.terminating[row] = True
        if (started := pod.status.start_time) is not None:
            self.start_time[row] = started.timestamp()
        self._row_of[info.uid] = row
        on_node = self._on_node.get(node_row)
        if on_node is None:
            self._on_node[node_row] = {row: None}
        else:
            on_node[row] = None

    def free_rows(self) -> Sequence[int]:
        """The rows that the next pods get, the last one first."""
        return tuple(self._free_rows)

    def free_last(self, rows: Sequence[int]) -> None:
        """As if these free rows had become free last, in this order. Whoever undoes changes gives pods their old rows:
        of pods that are equal to preemption, the one in the first row counts more.
        """
        last = set(rows)
        self._free_rows = [*sorted((row for row in self._free_rows if row not in last), reverse=True), *rows]

    def swap(self, row: int, info: PodInfo) -> None:
        """Replace a pod by a newer version with the same template."""
        self.infos[row] = info
        started = info.pod.status.start_time
        if started is not None:
            self.start_time[row] = started.timestamp()

    def remove(self, uid: str) -> tuple[PodInfo, int, int]:
        """Returns the pod, its node's row and its template's slot (free again if this was its last pod)."""
        row = self._row_of.pop(uid)
        info = self.infos[row]
        assert info is not None
        node_row, slot = int(self.node_row[row]), int(self.slot[row])
        self.infos[row] = None
        self.node_row[row], self.terminating[row], self.start_time[row] = ABSENT, False, _NOT_STARTED
        self._free_rows.append(row)
        on_node = self._on_node[node_row]
        del on_node[row]
        if not on_node:
            del self._on_node[node_row]
        self._rows_in_slot[slot].discard(row)
        if not self._rows_in_slot[slot]:
            self.templates[slot] = None
            del self.slot_of[info.template]
            self._free_slots.append(slot)
        return info, node_row, slot

    def _take_row(self) -> int:
        if self._free_rows:
            return self._free_rows.pop()
        row = len(self.infos)
        if row == self.capacity:
            self._grow(self.capacity * 2)
        self.infos.append(None)
        return row

    def take_slot(self, template: PodTemplate) -> int:
        """For a template that has no pods here yet."""
        if self._free_slots:
            slot = self._free_slots.pop()
            self.templates[slot] = template
        else:
            slot = len(self.templates)
            self.templates.append(template)
            self._rows_in_slot.append(set())
        self.slot_of[template] = slot
        return slot

    def _grow(self, capacity: int) -> None:
        self.capacity = capacity
        self.node_row = grown(self.node_row, capacity, ABSENT)
        self.slot = grown(self.slot, capacity, 0)
        self.priority = grown(self.priority, capacity, 0)
        self.terminating = grown(self.terminating, capacity, False)
        self.start_time = grown(self.start_time, capacity, _NOT_STARTED)
        self._cells = (cells(self.node_row), cells(self.slot), cells(self.priority))
