"""Normalised scores, kept: what becomes of each raw score that feasible rows have."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.columns import Booleans, Integers, PodInfo
from kubesched.engine.score_column import ScoreColumn, normalized
from kubesched.engine.tracker import MOST_ROWS_ONE_BY_ONE
from kubesched.framework import CycleState

_NONE: Final = np.iinfo(np.int64).min
"""In place of the raw score of a row that is not feasible."""
_MOST_VALUES: Final = 256
"""Beyond this, normalising each raw score once saves little."""


class Grades:
    """The points of one plugin that normalises by value (`ScorePlugin.normalizes_by_value`).

    It counts how many feasible rows have which raw score. As long as none comes up and none dies out, a row whose raw
    score is another changes nothing for the others.
    """

    __slots__ = ("_counts", "_is_sure", "_points_of", "_raw", "column")

    def __init__(self, column: ScoreColumn, fits: Booleans) -> None:
        self.column = column
        self._raw: Integers = np.where(fits, column.raw, _NONE)
        values, counts = np.unique(self._raw[fits], return_counts=True)
        self._counts: dict[int, int] = dict(zip(values.tolist(), counts.tolist(), strict=True))
        self._points_of: dict[int, int] = {}
        self._is_sure = False

    @property
    def are_worth_keeping(self) -> bool:
        return len(self._counts) <= _MOST_VALUES

    def follow(self, row: int, *, fits: bool) -> None:
        """A row's raw score, or whether it is feasible, may be another."""
        before, now = self._raw.item(row), self.column.raw.item(row) if fits else _NONE
        if before == now:
            return
        self._raw[row] = now
        counts = self._counts
        if before != _NONE:
            counts[before] -= 1
            if not counts[before]:
                del counts[before]
                self._is_sure = False
        if now != _NONE:
            counts[now] = counts.get(now, 0) + 1
            if now not in self._points_of:
                self._is_sure = False

    def settle(self, state: CycleState, pod: PodInfo) -> list[int] | None:
        """Normalise again, if need be: the rows besides those followed whose points are others; None if many are."""
        if self._is_sure:
            return []
        known, self._points_of = self._points_of, self._graded(state, pod)
        self._is_sure = True
        changed = [raw for raw, points in self._points_of.items() if known.get(raw, points) != points]
        if sum([self._counts[raw] for raw in changed]) > MOST_ROWS_ONE_BY_ONE:
            return None
        return [row for raw in changed for row in np.flatnonzero(self._raw == raw).tolist()]

    def points_at(self, row: int) -> int:
        """The weighted score of a feasible row, once settled."""
        return self._points_of[self._raw.item(row)]

    def points(self, fits: Booleans) -> Integers:
        """The weighted scores of the feasible rows, once settled."""
        values = np.array(sorted(self._points_of), dtype=np.int64)
        points = np.array([self._points_of[raw] for raw in values.tolist()], dtype=np.int64)
        return points[np.searchsorted(values, self._raw[fits])]

    def _graded(self, state: CycleState, pod: PodInfo) -> dict[int, int]:
        values = list(self._counts)
        column = self.column
        final = normalized(column.plugin, state, pod, np.array(values, dtype=np.int64))
        return dict(zip(values, (column.weight * final).tolist(), strict=True))
