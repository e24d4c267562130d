"""How many placed pods satisfy a predicate, per node and per topology domain, kept up to date.

A predicate is asked once per pod *template*, never per pod. Inter-pod affinity, topology spread, host ports and volume
conflicts are all such counts: a plugin says what it counts, and gets arrays.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

import numpy as np

from kubesched.columns.label_column import LabelColumn
from kubesched.columns.pod_table import PodTable
from kubesched.columns.pod_template import PodTemplate
from kubesched.columns.types import ABSENT, Booleans, Counts, grown

Weigh = Callable[[PodTemplate], int]

_BYTES_FOR_COUNTS = 256 << 20
_FEWEST_KEPT = 64


class PodCount:
    """A kept count. `version` changes whenever a number changes; `total` is the sum over all nodes."""

    __slots__ = ("_domains", "counts_terminating", "kept", "rows", "total", "version", "weigh")

    def __init__(self, weigh: Weigh, rows: Counts, *, counts_terminating: bool) -> None:
        self.weigh = weigh
        self.rows = rows
        self.total = int(rows.sum())
        self.version = 0
        self.counts_terminating = counts_terminating
        self.kept = True
        self._domains: dict[str, tuple[int, Counts]] = {}

    def per_domain(self, column: LabelColumn, where: Booleans | None = None) -> Counts:
        """Sum per domain (value id of `column`), over all nodes that carry the key or only those in `where`.

        The result has one entry per known value id, at least one. It is shared: don't write to it.
        """
        if where is not None:
            return _sum_per_domain(column, self.rows, where)
        kept = self._domains.get(column.key)
        if kept is None or kept[0] != column.version:
            kept = self._domains[column.key] = (column.version, _sum_per_domain(column, self.rows, None))
        return kept[1]

    def change(self, row: int, weight: int, labels: dict[str, LabelColumn]) -> None:
        self.rows[row] += weight
        self.total += weight
        self.version += 1
        for key, (version, sums) in self._domains.items():
            column = labels[key]
            if column.version == version and (domain := column.ids[row]) != ABSENT:
                sums[domain] += weight


class PodCounts:
    """All counts that are kept up to date; the least recently used are dropped when they grow too many."""

    def __init__(self, pods: PodTable, labels: dict[str, LabelColumn]) -> None:
        self._pods = pods
        self._labels = labels
        self._counts: OrderedDict[Hashable, PodCount] = OrderedDict()
        self._in_slot: list[list[tuple[PodCount, int]]] = []  # by slot: counts its pods change, by how much
        self._capacity = 0

    def of(self, key: Hashable, weigh: Weigh, *, capacity: int, counts_terminating: bool = True) -> PodCount:
        """The count for `key`, made by asking `weigh` about every template in use if it is not kept yet.

        `key` must name everything that `weigh` closes over.
        """
        count = self._counts.get(key)
        if count is not None:
            self._counts.move_to_end(key)
            return count
        weights = self._pods.by_slot(weigh)
        rows = self._pods.per_node(weights, capacity, with_terminating=counts_terminating)
        count = self._counts[key] = PodCount(weigh, rows, counts_terminating=counts_terminating)
        for slot in np.flatnonzero(weights):
            self._in_slot[slot].append((count, int(weights[slot])))
        self._drop_oldest(capacity)
        return count

    def slot_taken(self, slot: int, template: PodTemplate) -> None:
        """A template got its first pod: ask every kept count about it."""
        while len(self._in_slot) <= slot:
            self._in_slot.append([])
        weighed = ((count, count.weigh(template)) for count in self._counts.values())
        self._in_slot[slot] = [(count, weight) for count, weight in weighed if weight]

    def change(self, slot: int, row: int, sign: int, *, terminating: bool) -> None:
        for count, weight in self._in_slot[slot]:
            if count.kept and (count.counts_terminating or not terminating):
                count.change(row, sign * weight, self._labels)

    def grow(self, capacity: int) -> None:
        for count in self._counts.values():
            count.rows = grown(count.rows, capacity, 0)

    def _drop_oldest(self, capacity: int) -> None:
        most = max(_FEWEST_KEPT, _BYTES_FOR_COUNTS // (8 * max(1, capacity)))
        if len(self._counts) <= most:
            return
        for _ in range(max(1, most // 8)):
            self._counts.popitem(last=False)[1].kept = False
        self._in_slot = [[entry for entry in entries if entry[0].kept] for entries in self._in_slot]


def _sum_per_domain(column: LabelColumn, rows: Counts, where: Booleans | None) -> Counts:
    ids = column.ids[: len(rows)]
    counted = ids != ABSENT if where is None else (ids != ABSENT) & where
    sums = np.zeros(max(1, len(column.values)), dtype=np.int64)
    np.add.at(sums, ids[counted], rows[counted])
    return sums
