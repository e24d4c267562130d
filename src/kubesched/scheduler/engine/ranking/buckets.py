"""Rows in buckets by their total score: picking one of the best costs the same however many nodes there are."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

import msgspec
import numpy as np

from kubesched.scheduler.columns import Integers, Positions

INFEASIBLE: Final = -1
"""The total of a row that does not take the pod: below every real total."""


class _Bucket(msgspec.Struct, frozen=True, eq=False):
    """The rows that have one and the same total."""

    rows: array[int]
    """Each of them once, and those that have `left`."""
    left: set[int]
    """Rows that have another total by now: they are taken out of the list when they are drawn."""


class Buckets:
    """The totals of all rows, how many rows have which total, and lists of the rows with those that were the highest.

    A list is made when its total is the highest for the first time; from then on it follows the changes.
    """

    __slots__ = ("_by_row", "_counts", "_highest", "_listed")

    def __init__(self, by_row: Integers) -> None:
        self._by_row = by_row
        self._counts = _counted(by_row)
        self._highest = max(self._counts, default=INFEASIBLE)
        self._listed: dict[int, _Bucket] = {}

    @property
    def by_row(self) -> Integers:
        """Change them with `set` only."""
        return self._by_row

    def set(self, row: int, total: int) -> None:
        """A row's total has changed."""
        before = self._by_row.item(row)
        if before != total:
            self._by_row[row] = total
            self._join(row, total)
            self._leave(row, before)

    def set_all(self, rows: Positions, totals: Integers) -> None:
        """As `set`, for many rows at once."""
        before = self._by_row[rows]
        self._by_row[rows] = totals
        for row, old, new in zip(rows.tolist(), before.tolist(), totals.tolist(), strict=True):
            if old != new:
                self._join(row, new)
                self._leave(row, old)

    def serves(self, classifiers: Sequence[object]) -> bool:
        """Whether totals are complete without the scores of any classes (see `ClassBuckets`)."""
        return not classifiers

    def best(self, random: Random) -> int:
        """A row with the highest total, each with the same probability; -1 if every row is infeasible."""
        return -1 if self._highest == INFEASIBLE else self.draw(self._highest, random)

    @property
    def sizes(self) -> Mapping[int, int]:
        """The totals that there are, each with its number of rows."""
        return self._counts

    def draw(self, total: int, random: Random) -> int:
        """A row with this total, each with the same probability."""
        bucket = self._listed.get(total) or self._list(total)
        rows, left = bucket.rows, bucket.left
        while True:
            position = int(random.random() * len(rows))
            row = rows[position]
            if row not in left:
                return row
            left.discard(row)
            rows[position] = rows[-1]
            rows.pop()

    def _join(self, row: int, total: int) -> None:
        others = self._counts.get(total, 0)
        self._counts[total] = others + 1
        if not others:
            self._listed[total] = _Bucket(array("q", (row,)), set())
            self._highest = max(self._highest, total)
        elif (bucket := self._listed.get(total)) is not None:
            if row in bucket.left:
                bucket.left.discard(row)
            else:
                bucket.rows.append(row)

    def _leave(self, row: int, total: int) -> None:
        others = self._counts[total] - 1
        if others:
            self._counts[total] = others
            if (bucket := self._listed.get(total)) is not None:
                bucket.left.add(row)
                if len(bucket.left) > others:
                    del self._listed[total]  # drawing would be in vain too often: it is listed again if need be
        else:
            del self._counts[total]
            self._listed.pop(total, None)
            if total == self._highest:
                self._highest = max(self._counts)

    def _list(self, total: int) -> _Bucket:
        rows = np.flatnonzero(self._by_row == total)
        bucket = self._listed[total] = _Bucket(array("q", rows.tobytes()), set())
        return bucket


def _counted(totals: Integers) -> dict[int, int]:
    """How many rows have which total."""
    if len(totals) and totals.max() < len(totals):  # else an array with a place for every total would be sparse
        counts = np.bincount(totals - INFEASIBLE)
        present = np.flatnonzero(counts)
        return dict(zip((present + INFEASIBLE).tolist(), counts[present].tolist(), strict=True))
    present, counts = np.unique(totals, return_counts=True)
    return dict(zip(present.tolist(), counts.tolist(), strict=True))


def best_of(totals: Integers, random: Random) -> int:
    """A position with the highest total, each with the same probability."""
    best = (totals == np.maximum.reduce(totals)).nonzero()[0]
    return int(best[int(random.random() * len(best))])
