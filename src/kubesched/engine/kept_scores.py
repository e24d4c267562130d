"""The scores for one pod template, kept while they stay true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubesched.columns import Booleans, Cluster, Integers, NodeView, PodInfo, PodTemplate
from kubesched.engine.inherited import Inherit
from kubesched.engine.lineup import Lineup, ask_pre_score, ask_score
from kubesched.engine.score_column import ScoreColumn, normalized
from kubesched.engine.selection import INFEASIBLE, RowTotals
from kubesched.engine.tracker import RowArray, as_rows
from kubesched.framework import CycleState, Reach, ScorePlugin
from kubesched.framework.stopwatch import timed_point


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of some rows: each plugin's, after normalisation and before its weight, and the weighted totals."""

    rows: RowArray
    by_plugin: dict[str, Integers]
    totals: Integers


Ranked = RowTotals | tuple[RowArray, Integers]
"""The totals of all rows, or some rows and theirs."""


class KeptScores:
    """PreScore and Score of one template.

    Plugins whose score reach for this template is CYCLE are asked about the feasible rows in every cycle; the others
    keep raw scores for all rows. A score is local if it depends on its row alone: it is not normalised, or normalised
    to a constant. The sum of the local ones is kept by row; where there are no others, the best rows are kept, too.
    """

    def __init__(self, template: PodTemplate, lineup: Lineup, cluster: Cluster) -> None:
        self._template = template
        self._lineup = lineup
        self._cluster = cluster
        self._reach = lineup.score_reaches(template)
        self._all_lasting = False
        self._are_stale = False
        self._says_skip: dict[str, bool] = {}
        self.columns: dict[str, ScoreColumn] = {}
        """Kept raw scores by plugin; `Kept` brings them up to date where rows have changed."""
        self._points: Integers | None = None
        self._but_for_sums: Integers | int = 0  # an array only where not all rows have the same
        self._totals: RowTotals | None = None
        self._was_ranked = False  # since the points and `fits` were made
        self._others: list[ScoreColumn] = []
        self._constants: list[ScoreColumn] = []
        self._offset = 0
        self.by_sums: list[ScoreColumn] = []
        self.has_row_columns = False
        self.columns_version = 0
        self.rows_asked = 0
        self._reach_changed()

    def invalidate(self, stale: frozenset[str]) -> None:
        """The basis of these plugins has changed."""
        self._are_stale = True
        for plugin in self._lineup.pre_scores:
            if plugin.name in stale:
                self._says_skip.pop(plugin.name, None)
                self._reach[plugin.name] = plugin.reach_of(self._template)
        for scoring, _ in self._lineup.scores:
            if scoring.name in stale:
                reach = self._reach[scoring.name] = scoring.score_reach_of(self._template)
                column = self.columns.get(scoring.name)
                if column is None or reach is not column.reach or reach is Reach.SUMS:
                    self._forget(scoring.name)
                else:
                    column.is_stale = True
        self._reach_changed()

    def drop(self) -> None:
        """Everything may have changed."""
        self.columns.clear()
        self._columns_changed()

    def fits_made_anew(self) -> None:
        """Which rows are feasible has changed beyond the rows that `rows_changed` names."""
        self._totals = None
        self._was_ranked = False

    def rows_changed(self, rows: list[int], fits: Booleans) -> None:
        """The columns are up to date at these rows: take that over into the points."""
        if self._points is None:
            return
        if any(column.constant is None for column in self._constants):
            self._drop_points()
            return
        for row in rows:
            fitting = bool(fits[row])
            if isinstance(self._but_for_sums, np.ndarray):
                others = sum([column.points_at(row, fitting) for column in self._others])
                self._but_for_sums[row] = self._offset + others
            self.settle(row, sum([column.points_at(row, fitting) for column in self.by_sums]), fits=fitting)

    def settle(self, row: int, points: int, *, fits: bool) -> None:
        """A row's points, given those of the plugins that see sums only."""
        if self._points is not None:
            rest = self._but_for_sums
            total = self._points[row] = points + (rest if isinstance(rest, int) else rest.item(row))
            if self._totals is not None:
                self._totals.set(row, total if fits else INFEASIBLE)

    def ranked(
        self, state: CycleState, pod: PodInfo, fits: Booleans, rows: RowArray | None, inherit: Inherit[ScoreColumn]
    ) -> Ranked:
        """The totals of some feasible rows; None: of all.

        The best rows of all are kept where they depend on no other row, and from the second time on: many a template
        is seen once only, and for many the feasible rows are others every time.
        """
        is_whole = rows is None
        if is_whole and self._totals is not None and self._all_lasting and not self._are_stale:
            return self._totals
        rows = np.flatnonzero(fits) if rows is None else rows
        nodes = self._view(rows)
        self._complete(state, pod, nodes, inherit)
        points = self._local_points(state, pod, fits)
        others = self._not_local(state)
        if is_whole and not others and self._was_ranked:
            if self._totals is None:
                self._totals = RowTotals(np.where(fits, points, INFEASIBLE))
            return self._totals
        self._was_ranked = True
        totals: Integers = points[nodes.rows]
        for plugin, weight, column in others:
            totals = totals + weight * self._normalized(plugin, column, state, pod, nodes)
        return rows, totals

    def scores(self, state: CycleState, pod: PodInfo, rows: RowArray, inherit: Inherit[ScoreColumn]) -> Scores:
        """The scores of the given feasible rows, plugin by plugin."""
        nodes = self._view(rows)
        self._complete(state, pod, nodes, inherit)
        by_plugin: dict[str, Integers] = {}
        totals = np.full(len(rows), self._least_total, dtype=np.int64)
        for plugin, weight in self._lineup.scores:
            if plugin.name not in state.skipped_scores:
                column = self.columns.get(plugin.name)
                by_plugin[plugin.name] = self._normalized(plugin, column, state, pod, nodes)
                totals += weight * by_plugin[plugin.name]
        return Scores(rows, by_plugin, totals)

    def _view(self, rows: RowArray) -> NodeView:
        """A view of the rows; as a slice, where those are all that there are."""
        return self._cluster.view(None if len(rows) == len(self._cluster.nodes) else rows)

    def _not_local(self, state: CycleState) -> list[tuple[ScorePlugin, int, ScoreColumn | None]]:
        """The plugins whose scores depend on other rows or on the cycle, with their weights and kept raw scores."""
        return [
            (plugin, weight, column)
            for plugin, weight in self._lineup.scores
            if plugin.name not in state.skipped_scores
            and ((column := self.columns.get(plugin.name)) is None or not column.is_local)
        ]

    @property
    def _least_total(self) -> int:
        """Without any score plugin every node is as good as the next: each gets 1 (prioritizeNodes)."""
        return 0 if self._lineup.scores else 1

    def _normalized(
        self, plugin: ScorePlugin, column: ScoreColumn | None, state: CycleState, pod: PodInfo, nodes: NodeView
    ) -> Integers:
        raw = column.raw[nodes.rows] if column is not None else self.ask(plugin, state, pod, nodes)
        return normalized(plugin, state, pod, raw)

    def _local_points(self, state: CycleState, pod: PodInfo, fits: Booleans) -> Integers:
        """Per row: the points of the local scores."""
        if self._points is None:
            of_rows = [column for column in self.columns.values() if column not in self.by_sums]
            self._constants = [column for column in of_rows if column.constant is not None]
            self._others = [column for column in of_rows if column.constant is None and not column.normalizes]
            self._offset = self._constant_points(state, pod)
            self._but_for_sums = self._offset
            for column in self._others:
                self._but_for_sums = column.weighted(fits) + self._but_for_sums
            points: Integers | int = self._but_for_sums
            for column in self.by_sums:
                points = column.weighted(fits) + points
            self._points = np.full(self._cluster.nodes.capacity, points) if isinstance(points, int) else points
            if self._points is self._but_for_sums:
                self._points = self._points.copy()
        return self._points

    def ask(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers:
        self.rows_asked += len(nodes)
        return ask_score(plugin, state, pod, nodes)

    def _complete(self, state: CycleState, pod: PodInfo, nodes: NodeView, inherit: Inherit[ScoreColumn]) -> None:
        """Run PreScore, and get the scores that plugins keep and that are not there yet, or stale."""
        timed_point(state.stopwatch, "PreScore", self._pre_score, state, pod, nodes)
        has_new = False
        for plugin, weight in self._lineup.scores:
            name, reach = plugin.name, self._reach[plugin.name]
            column = self.columns.get(name)
            if reach is Reach.CYCLE or name in state.skipped_scores:
                if column is not None:
                    self._forget(name)
            elif column is None:
                self.columns[name] = self._new_column(plugin, weight, state, pod, inherit)
                has_new = True
            elif column.is_stale:
                self._renew(column, state, pod)
        if has_new:
            self._columns_changed()
        self._are_stale = False

    def _renew(self, column: ScoreColumn, state: CycleState, pod: PodInfo) -> None:
        """Bring a stale column up to date."""
        constant, was_local = column.constant, column.is_local
        has_changed = column.renew(self._ask_all(column, state, pod))
        if self._points is None or not has_changed or not (was_local or column.is_local):
            return
        is_another_constant = constant is not None and column.constant is not None
        if not is_another_constant or self._offset != self._constant_points(state, pod):
            self._drop_points()

    def _constant_points(self, state: CycleState, pod: PodInfo) -> int:
        """The points that every row gets."""
        return self._least_total + sum([column.constant_points(state, pod) for column in self._constants])

    def _new_column(
        self, plugin: ScorePlugin, weight: int, state: CycleState, pod: PodInfo, inherit: Inherit[ScoreColumn]
    ) -> ScoreColumn:
        inherited = inherit(plugin.name)
        if inherited is None:
            column = ScoreColumn(plugin, weight, self._reach[plugin.name], self._cluster.nodes.capacity)
            column.fill(self._ask_all(column, state, pod))
        else:
            column = inherited.column
            if inherited.rows:
                changed = self._cluster.view(as_rows(inherited.rows))
                column.merge(changed, self.ask(plugin, state, pod, changed))
        return column

    def _ask_all(self, column: ScoreColumn, state: CycleState, pod: PodInfo) -> Integers:
        """Scores of every row; where nodes that are alike get the same score, one of each kind is asked about."""
        table = self._cluster.nodes
        alike = table.sums.alike(len(table)) if column.reach is Reach.SUMS else None
        if alike is None:
            return self.ask(column.plugin, state, pod, self._cluster.view())
        return self.ask(column.plugin, state, pod, self._cluster.view(alike.rows))[alike.kind]

    def _pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        for plugin in self._lineup.pre_scores:
            name = plugin.name
            skip = self._says_skip.get(name)
            if skip is None:
                lasts = self._reach[name] is not Reach.CYCLE
                skip = ask_pre_score(plugin, state.lasting if lasts else state, pod, nodes).is_skip
                if lasts:
                    self._says_skip[name] = skip
            if skip:
                state.skipped_scores.add(name)

    def _reach_changed(self) -> None:
        self._all_lasting = Reach.CYCLE not in self._reach.values()

    def _forget(self, name: str) -> None:
        if self.columns.pop(name, None) is not None:
            self._columns_changed()

    def _columns_changed(self) -> None:
        self.columns_version += 1
        self.by_sums = [column for column in self.columns.values() if column.reach is Reach.SUMS]
        self.has_row_columns = any(column.reach is Reach.ROW for column in self.columns.values())
        self._drop_points()

    def _drop_points(self) -> None:
        self._points = self._totals = None
        self._was_ranked = False
