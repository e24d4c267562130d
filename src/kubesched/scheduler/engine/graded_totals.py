"""Totals in which normalised scores count, kept: by kinds of rows, whose points are looked up when a row is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

import numpy as np

from kubesched.scheduler.columns import Integers, LabelColumn, PodInfo
from kubesched.scheduler.engine.score_column import ScoreColumn, normalized
from kubesched.scheduler.engine.selection import INFEASIBLE, RowTotals
from kubesched.scheduler.engine.tracker import RowArray
from kubesched.scheduler.framework import CycleState, ScorePlugin

_MOST_KINDS: Final = 1 << 10
_MOST_REMEMBERED: Final = 1 << 6
_MOST_LEVELS: Final = 1 << 9
"""Beyond this, it is faster to add up the totals of all rows."""


class ByValue(NamedTuple):
    """Rows with the same raw score are of a kind."""

    source: ScoreColumn

    @property
    def plugin(self) -> ScorePlugin:
        return self.source.plugin

    @property
    def weight(self) -> int:
        return self.source.weight

    def kinds(self) -> Integers:
        return self.source.raw

    def raw(self, kinds: Integers) -> Integers:
        return kinds


class ByDomain(NamedTuple):
    """Rows in the same domain are of a kind; what raw score a domain has is told anew in every cycle."""

    source: LabelColumn
    plugin: ScorePlugin
    weight: int
    scores: Integers

    def kinds(self) -> Integers:
        return self.source.domains

    def raw(self, kinds: Integers) -> Integers:
        return self.scores[kinds]


Facet = ByValue | ByDomain
"""What one plugin that normalises by value (`ScorePlugin.normalizes_by_value`) tells rows apart by."""


class GradedTotals:
    """A row's total is what depends on that row alone, and the points of its kind: by these two it is filed.

    So a row that changes is filed elsewhere, and whatever becomes of the points of a kind, no row has to be touched.
    """

    __slots__ = ("_facets", "_filed", "_graded", "_has_domains", "_kind_of", "_kinds", "_points")

    def __init__(self, facets: Sequence[Facet], local: Integers) -> None:
        """`local` is the part of each row's total that depends on the row alone, or INFEASIBLE."""
        self._facets = facets
        self._has_domains = any(isinstance(facet, ByDomain) for facet in facets)
        rows = np.flatnonzero(local != INFEASIBLE)
        numbers = np.zeros(len(rows), dtype=np.int64)
        for facet in facets:
            values, positions = np.unique(facet.kinds()[rows], return_inverse=True)
            numbers = numbers * len(values) + positions
        _, examples, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        self._kinds = [self._seen_at(row) for row in rows[examples].tolist()]
        self._kind_of = {kind: number for number, kind in enumerate(self._kinds)}
        filed = np.full(len(local), INFEASIBLE, dtype=np.int64)
        filed[rows] = local[rows] * _MOST_KINDS + numbers
        self._filed = RowTotals(filed)
        self._points: list[int] = []  # by kind, as far as there are feasible rows of it
        self._graded: dict[frozenset[int], list[int]] = {}  # earlier points, by the kinds that they were made for

    def serves(self, facets: Sequence[Facet]) -> bool:
        """Whether rows are told apart by the same; then these are the facets from now on."""
        if [facet.source for facet in facets] != [facet.source for facet in self._facets]:
            return False
        self._facets = facets
        return True

    def set(self, row: int, local: int) -> None:
        """A row's kind, or the part of its total that depends on it alone, may have changed."""
        filed = local if local == INFEASIBLE else local * _MOST_KINDS + self._number_of(self._seen_at(row))
        self._filed.set(row, filed)

    def set_all(self, rows: RowArray, local: Integers) -> None:
        """As `set`, for many rows at once."""
        feasible = local != INFEASIBLE
        seen = zip(*[facet.kinds()[rows[feasible]].tolist() for facet in self._facets], strict=True)
        filed = local.copy()
        filed[feasible] = local[feasible] * _MOST_KINDS + [self._number_of(kind) for kind in seen]
        self._filed.set_all(rows, filed)

    def _number_of(self, kind: tuple[int, ...]) -> int:
        number = self._kind_of.get(kind)
        if number is None:
            number = self._kind_of[kind] = len(self._kinds)
            self._kinds.append(kind)
        return number

    def grade(self, state: CycleState, pod: PodInfo) -> bool:
        """Normalise the scores of the kinds that there are. False if there are too many: these totals are void then."""
        levels = self._filed.levels
        if len(self._kinds) > _MOST_KINDS or len(levels) > _MOST_LEVELS:
            return False
        present = frozenset([level % _MOST_KINDS for level in levels if level != INFEASIBLE])
        points = None if self._has_domains else self._graded.get(present)
        self._points = self._normalized(present, state, pod) if points is None else points
        return True

    def _normalized(self, present: frozenset[int], state: CycleState, pod: PodInfo) -> list[int]:
        """The points of the kinds that there are, by the number of the kind."""
        kinds = [self._kinds[number] for number in present]
        points = np.zeros(len(kinds), dtype=np.int64)
        for facet, values in zip(self._facets, zip(*kinds, strict=True), strict=True):
            raw = facet.raw(np.array(values, dtype=np.int64))
            points += facet.weight * normalized(facet.plugin, state, pod, raw)
        graded = [0] * len(self._kinds)
        for number, gained in zip(present, points.tolist(), strict=True):
            graded[number] = gained
        if not self._has_domains:
            if len(self._graded) >= _MOST_REMEMBERED:
                self._graded.clear()
            self._graded[present] = graded
        return graded

    def best(self, random: Random) -> int:
        """A row with the highest total, each with the same probability; only after `grade`."""
        highest, best = INFEASIBLE, list[int]()
        for level in self._filed.levels:
            if level != INFEASIBLE:
                total = level // _MOST_KINDS + self._points[level % _MOST_KINDS]
                if total > highest:
                    highest, best = total, [level]
                elif total == highest:
                    best.append(level)
        numbers = [self._filed.levels[level] for level in best]
        chosen = best[0] if len(best) == 1 else random.choices(best, numbers)[0]
        return self._filed.draw(chosen, random)

    @property
    def by_row(self) -> Integers:
        """The totals of all rows."""
        filed = self._filed.by_row
        points = np.array(self._points, dtype=np.int64)
        totals = filed // _MOST_KINDS
        feasible = np.flatnonzero(filed != INFEASIBLE)
        totals[feasible] += points[filed[feasible] % _MOST_KINDS]
        return totals

    def _seen_at(self, row: int) -> tuple[int, ...]:
        return tuple([facet.kinds().item(row) for facet in self._facets])
