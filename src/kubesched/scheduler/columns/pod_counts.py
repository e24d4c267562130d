"""How many placed pods satisfy a predicate, per node and per topology domain, kept up to date.

A predicate is asked once per pod *template*, never per pod. Inter-pod affinity, topology spread, host ports and volume
conflicts are all such counts: a plugin says what it counts, and gets arrays.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from itertools import count as counting
from weakref import ref

import numpy as np

from kubesched.scheduler.columns.label_column import LabelColumn
from kubesched.scheduler.columns.pod_table import PodTable
from kubesched.scheduler.columns.pod_template import PodInfo, PodTemplate
from kubesched.scheduler.columns.types import ABSENT, Booleans, Counts, grown

Weigh = Callable[[PodTemplate], int]

_BYTES_FOR_COUNTS = 256 << 20
_BYTES_PER_COUNT = 12 << 10
_BYTES_PER_ROW = 16
"""One number per row, and one in the sums per host."""
_FEWEST_KEPT = 64
_CHANGES_REMEMBERED = 64


class PodCount:
    """A count, kept up to date for as long as somebody holds on to it. `total` is the sum over all nodes.

    `version` changes whenever a number changes, and no two counts ever have the same: equal versions, equal numbers.
    """

    __slots__ = (
        "__weakref__",
        "_changes",
        "_domains",
        "_versions",
        "counts_terminating",
        "rows",
        "total",
        "version",
        "weigh",
    )

    def __init__(self, weigh: Weigh, rows: Counts, versions: Iterator[int], *, counts_terminating: bool) -> None:
        self.weigh = weigh
        self.rows = rows
        self.total = int(rows.sum())
        self._versions = versions
        self.version = next(versions)
        self.counts_terminating = counts_terminating
        self._domains: dict[LabelColumn, tuple[int, Counts]] = {}
        self._changes: deque[tuple[int, int, int]] = deque(maxlen=_CHANGES_REMEMBERED)  # version before, row, weight

    def per_domain(self, column: LabelColumn, where: Booleans | None = None) -> Counts:
        """Sum per domain (value id of `column`), over all nodes that carry the key or only those in `where`.

        The result has one entry per known value id, and a last one, always 0, which answers for ABSENT: index it
        with domain ids without further ado. It is shared: don't write to it.
        """
        if where is not None:
            return _sum_per_domain(column, self.rows, where)
        kept = self._domains.get(column)
        if kept is None or kept[0] != column.version:
            kept = self._domains[column] = (column.version, _sum_per_domain(column, self.rows, None))
        return kept[1]

    def changes_since(self, version: int) -> dict[int, int] | None:
        """By row: how much was added since the count had this version. None: too long ago, or it never had it."""
        changes: dict[int, int] = {}
        if version == self.version:
            return changes
        for before, row, weight in reversed(self._changes):
            changes[row] = changes.get(row, 0) + weight
            if before == version:
                return changes
        return None

    def change(self, row: int, weight: int) -> None:
        self._changes.append((self.version, row, weight))
        self.rows[row] += weight
        self.total += weight
        self.version = next(self._versions)
        for column, (version, sums) in self._domains.items():
            if column.version == version and (domain := column.ids.item(row)) != ABSENT:
                sums[domain] += weight


class _Entry(ref[PodCount]):
    """Where a count is filed. It does not keep the count: that is up to those who asked for it."""

    __slots__ = ("key", "slots", "tags")

    key: Hashable
    tags: tuple[Hashable, ...] | None
    slots: set[int]
    """Of the templates in use that have a weight."""


class PodCounts:
    """All counts that are kept up to date: those that somebody holds on to.

    When they grow too many, the least recently asked for are dropped.
    """

    def __init__(self, pods: PodTable) -> None:
        self._pods = pods
        self._counts: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._in_slot: list[dict[_Entry, int]] = []  # by slot: counts its pods change, by how much
        self._slots_with: dict[Hashable, set[int]] = {}  # by tag of their templates
        self._narrowed_to: dict[Hashable, dict[_Entry, None]] = {}  # counts by tag
        self._not_narrowed: dict[_Entry, None] = {}
        self._given_up: list[ref[PodCount]] = []  # nobody holds them any more: to be taken out
        self._versions = counting()
        self.drops = 0
        """Changes when counts are dropped: whoever holds on to some must ask for them again then."""

    def __len__(self) -> int:
        return len(self._counts)

    def of(
        self,
        key: Hashable,
        weigh: Weigh,
        *,
        capacity: int,
        counts_terminating: bool = True,
        tags: Iterable[Hashable] | None = None,
    ) -> PodCount:
        """The count for `key`, made by asking `weigh` about templates in use if nobody holds it yet.

        `key` must name everything that `weigh` closes over. `tags`, if given, narrow the search: `weigh` is 0 for
        all templates that have none of them (see `PodTemplate.tags`).
        """
        entry = self._counts.get(key)
        count = entry() if entry is not None else None
        if count is not None:
            self._counts.move_to_end(key)
            return count
        self._take_out_given_up()
        tags = None if tags is None else tuple(tags)
        weights = self._weights(weigh, tags)
        rows = self._pods.per_node(weights, capacity, with_terminating=counts_terminating)
        count = PodCount(weigh, rows, self._versions, counts_terminating=counts_terminating)
        entry = self._file(key, count, tags)
        for slot in np.flatnonzero(weights).tolist():
            self._in_slot[slot][entry] = int(weights[slot])
            entry.slots.add(slot)
        self._drop_oldest(capacity)
        return count

    def slot_taken(self, slot: int, template: PodTemplate) -> None:
        """A template got its first pod: ask every kept count that it may concern."""
        self._take_out_given_up()
        while len(self._in_slot) <= slot:
            self._in_slot.append({})
        concerned = dict(self._not_narrowed)
        for tag in template.tags:
            self._slots_with.setdefault(tag, set()).add(slot)
            concerned.update(self._narrowed_to.get(tag, {}))
        for entry in concerned:
            count = entry()
            if count is not None and (weight := count.weigh(template)):
                self._in_slot[slot][entry] = weight
                entry.slots.add(slot)

    def slot_released(self, slot: int, template: PodTemplate) -> None:
        """A template lost its last pod."""
        for entry in self._in_slot[slot]:
            entry.slots.discard(slot)
        self._in_slot[slot] = {}
        for tag in template.tags:
            slots = self._slots_with[tag]
            slots.discard(slot)
            if not slots:
                del self._slots_with[tag]

    def change(self, slot: int, row: int, info: PodInfo, sign: int) -> None:
        """A pod comes to a row (+1), or leaves it (-1)."""
        for entry, weight in self._in_slot[slot].items():
            count = entry()
            if count is not None and (count.counts_terminating or not info.pod.is_terminating):
                count.change(row, sign * weight)

    def grow(self, capacity: int) -> None:
        for entry in self._counts.values():
            count = entry()
            if count is not None:
                count.rows = grown(count.rows, capacity, 0)

    def _drop_oldest(self, capacity: int) -> None:
        most = max(_FEWEST_KEPT, _BYTES_FOR_COUNTS // (_BYTES_PER_COUNT + _BYTES_PER_ROW * capacity))
        if len(self._counts) <= most:
            return
        self.drops += 1
        for _ in range(max(1, most // 8)):
            self._take_out(next(iter(self._counts.values())))

    def _weights(self, weigh: Weigh, tags: Collection[Hashable] | None) -> Counts:
        """`weigh` of each template in use that has one of the tags, by slot."""
        if tags is None:
            return self._pods.by_slot(weigh)
        weights = np.zeros(len(self._pods.templates), dtype=np.int64)
        for slot in set[int]().union(*(self._slots_with.get(tag, ()) for tag in tags)):
            template = self._pods.templates[slot]
            weights[slot] = weigh(template) if template is not None else 0
        return weights

    def _file(self, key: Hashable, count: PodCount, tags: tuple[Hashable, ...] | None) -> _Entry:
        # A count may be given up at any moment, even while one of these dictionaries is read: it is only noted then.
        entry = self._counts[key] = _Entry(count, self._given_up.append)
        entry.key, entry.tags, entry.slots = key, tags, set()
        if tags is None:
            self._not_narrowed[entry] = None
        for tag in tags or ():
            self._narrowed_to.setdefault(tag, {})[entry] = None
        return entry

    def _take_out_given_up(self) -> None:
        while self._given_up:
            entry = self._given_up.pop()
            if isinstance(entry, _Entry) and self._counts.get(entry.key) is entry:  # not dropped before
                self._take_out(entry)

    def _take_out(self, entry: _Entry) -> None:
        del self._counts[entry.key]
        for slot in entry.slots:
            del self._in_slot[slot][entry]
        self._not_narrowed.pop(entry, None)
        for tag in dict.fromkeys(entry.tags or ()):
            filed = self._narrowed_to[tag]
            del filed[entry]
            if not filed:
                del self._narrowed_to[tag]


def _sum_per_domain(column: LabelColumn, rows: Counts, where: Booleans | None) -> Counts:
    counted = np.flatnonzero(rows != 0)
    if where is not None:
        counted = counted[where[counted]]
    domains = column.domains[counted]
    last = len(column.values)
    domains[domains == ABSENT] = last
    sums = np.bincount(domains, rows[counted], minlength=last + 1).astype(np.int64)
    sums[last] = 0
    return sums
