"""The scores of a template added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kubesched.scheduler.columns import Booleans, ClusterTables, Integers, NodeView, PodInfo
from kubesched.scheduler.engine.asked import Asked
from kubesched.scheduler.engine.family import Family
from kubesched.scheduler.engine.graded_totals import ByDomain, ByValue, Facet, GradedTotals
from kubesched.scheduler.engine.lineup import Lineup, ask_score
from kubesched.scheduler.engine.score_column import ScoreColumn, normalized
from kubesched.scheduler.engine.selection import INFEASIBLE, RowTotals
from kubesched.scheduler.engine.sum_scores import SumScores
from kubesched.scheduler.engine.tracker import RowArray
from kubesched.scheduler.framework import CycleState, ScorePlugin
from kubesched.scheduler.framework.stopwatch import timed_point


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of some rows: each plugin's, after normalisation and before its weight, and the weighted totals."""

    rows: RowArray
    by_plugin: dict[str, Integers]
    totals: Integers


_MOST_RANKINGS_AWAITED: Final = 64

Ranked = RowTotals | GradedTotals | tuple[RowArray, Integers]
"""The totals of all rows, or some rows and theirs."""


def _facets(
    others: list[tuple[ScorePlugin, int, ScoreColumn | None]], state: CycleState, pod: PodInfo
) -> list[Facet] | None:
    """What these plugins tell rows apart by; None if that cannot be said of all."""
    facets: list[Facet] = []
    for plugin, weight, column in others:
        if not plugin.normalizes_by_value:
            return None
        if column is not None:
            facets.append(ByValue(column))
        elif (by_domain := plugin.score_by_domain(state, pod.template)) is not None:
            facets.append(ByDomain(by_domain[0], plugin, weight, by_domain[1]))
        else:
            return None
    return facets


class Totals:
    """What the family's scores and those by sums make together.

    The first time nothing is kept: many a template is seen once only. The totals of all rows are kept where they
    depend on no other row, or only through `GradedTotals`; and only once the feasible rows were found the same again:
    for many they never are. Where rows were of too many kinds, it takes longer before totals are kept again.
    """

    def __init__(
        self, family: Family, by_sums: SumScores, lineup: Lineup, cluster: ClusterTables, asked: Asked
    ) -> None:
        self._family = family.scores
        self._pods_family = family
        self._by_sums = by_sums
        self._lineup = lineup
        self._cluster = cluster
        self._asked = asked
        self._points: Integers | None = None  # of the scores by sums
        self._totals: RowTotals | GradedTotals | None = None
        self._was_seen = False  # since the scores by sums were dropped
        self._rankings = 0  # since the feasible rows were made
        self._rankings_awaited = 1
        self._family_version = -1

    def drop(self) -> None:
        """The scores by sums are gone."""
        self._points = None
        self._was_seen = False
        self.forget()

    def forget(self) -> None:
        """Which rows are feasible has changed beyond the rows that `set` names."""
        self._totals = None
        self._rankings = 0

    def follow_family(self) -> None:
        """Forget the totals if the family's points are others. Before `set`."""
        if self._family_version != self._family.version:
            self._family_version = self._family.version
            self.forget()

    def set(self, row: int, points: int, fits: bool) -> None:
        """A row's points by sums, and whether it is feasible."""
        if self._points is not None:
            self._points[row] = points
            if self._totals is not None:
                self._totals.set(row, points + self._family.points_at(row) if fits else INFEASIBLE)

    def set_all(self, rows: RowArray, points: Integers, fits: Booleans, is_new: Booleans) -> None:
        """As `set`, for many rows at once; `is_new` says where `fits` is another than before."""
        if self._points is None:
            return
        changed = (is_new | (self._points[rows] != points)).nonzero()[0]
        rows, points = rows[changed], points[changed]
        self._points[rows] = points
        if self._totals is not None and len(rows):
            self._totals.set_all(rows, np.where(fits[changed], points + self._family.points_of(rows), INFEASIBLE))

    def kept(self, state: CycleState, pod: PodInfo) -> RowTotals | GradedTotals | None:
        """The totals of all rows, if no plugin needs to be asked anything but to normalise."""
        if not self._family.are_settled():
            return None
        totals = self._totals
        return self._graded(totals, state, pod) if isinstance(totals, GradedTotals) else totals

    def ranked(
        self, state: CycleState, lasting: CycleState, pod: PodInfo, fits: Booleans, rows: RowArray, *, is_whole: bool
    ) -> Ranked:
        """The totals of some feasible rows; of all rows, if `rows` are all the feasible ones and it can be."""
        nodes = self._view(rows)
        self._complete(state, lasting, pod, nodes)
        self.follow_family()
        if is_whole and (totals := self.kept(state, pod)) is not None:
            return totals
        rest = self._family.points(state, pod, self._pods_family.fits)
        others = self._family.not_local(state)
        facets = _facets(others, state, pod) if is_whole else None
        if facets is not None and self._has_totals_by(facets, state, pod, fits, rest):
            totals = self._totals
            if isinstance(totals, GradedTotals):
                totals = self._graded(totals, state, pod)
            if totals is not None:
                return totals
        self._rankings += 1
        if self._was_seen:
            added = self._made_points(state, pod, fits)[nodes.rows]
        else:
            added = self._by_sums.points_of(state, pod, nodes)
        self._was_seen = True
        added = added + (rest if isinstance(rest, int) else rest[nodes.rows])
        for plugin, weight, column in others:
            added += weight * self._normalized(plugin, column, state, pod, nodes)
        return rows, added

    def scores(self, state: CycleState, lasting: CycleState, pod: PodInfo, rows: RowArray) -> Scores:
        """The scores of the given feasible rows, plugin by plugin."""
        nodes = self._view(rows)
        self._complete(state, lasting, pod, nodes)
        by_plugin: dict[str, Integers] = {}
        totals = np.full(len(rows), 0 if self._lineup.scores else 1, dtype=np.int64)
        columns = self._family.by_plugin | self._by_sums.by_plugin
        for plugin, weight in self._lineup.scores:
            if plugin.name not in state.skipped_scores:
                column = columns.get(plugin.name)
                by_plugin[plugin.name] = self._normalized(plugin, column, state, pod, nodes)
                totals += weight * by_plugin[plugin.name]
        return Scores(rows, by_plugin, totals)

    def _has_totals_by(
        self, facets: list[Facet], state: CycleState, pod: PodInfo, fits: Booleans, rest: Integers | int
    ) -> bool:
        """Whether totals with these facets are kept; begins to keep them once it is time."""
        totals = self._totals
        if totals is not None and (totals.serves(facets) if isinstance(totals, GradedTotals) else not facets):
            return True
        if self._rankings < self._rankings_awaited:
            return False
        local = np.where(fits, self._made_points(state, pod, fits) + rest, INFEASIBLE)
        self._totals = GradedTotals(facets, local) if facets else RowTotals(local)
        return True

    def _graded(self, totals: GradedTotals, state: CycleState, pod: PodInfo) -> GradedTotals | None:
        """The kept totals with the points of today; None if it was not worth it to keep them."""
        if totals.grade(state, pod):
            return totals
        self.forget()
        self._rankings_awaited = min(2 * self._rankings_awaited, _MOST_RANKINGS_AWAITED)
        return None

    def _complete(self, state: CycleState, lasting: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        timed_point(state.stopwatch, "PreScore", self._pre_score, state, lasting, pod, nodes)
        self._family.complete(state, pod)

    def _pre_score(self, state: CycleState, lasting: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        self._family.pre_scores.complete(state, self._pods_family.lasting, pod, nodes)
        self._by_sums.pre_scores.complete(state, lasting, pod, nodes)

    def _made_points(self, state: CycleState, pod: PodInfo, fits: Booleans) -> Integers:
        self._by_sums.complete(state, pod)
        if self._points is None:
            self._points = self._by_sums.points(fits)
        return self._points

    def _view(self, rows: RowArray) -> NodeView:
        """A view of the rows; as a slice, where those are all that there are."""
        return self._cluster.view(None if len(rows) == len(self._cluster.nodes) else rows)

    def _normalized(
        self, plugin: ScorePlugin, column: ScoreColumn | None, state: CycleState, pod: PodInfo, nodes: NodeView
    ) -> Integers:
        if column is not None:
            return normalized(plugin, state, pod, column.raw[nodes.rows])
        self._asked.rows += len(nodes)
        return normalized(plugin, state, pod, ask_score(plugin, state, pod, nodes))
