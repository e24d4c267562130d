"""The scores for one pod template, kept while they stay true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kubesched.columns import Booleans, Cluster, Integers, NodeView, PodInfo, PodTemplate
from kubesched.engine.inherited import Inherit
from kubesched.engine.lineup import Lineup, ask_pre_score, ask_score
from kubesched.engine.score_column import ScoreColumn, normalized
from kubesched.engine.selection import INFEASIBLE, BlockMaxima
from kubesched.engine.tracker import RowArray, as_rows
from kubesched.framework import CycleState, Reach, ScorePlugin
from kubesched.framework.stopwatch import timed_point


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of some rows: each plugin's, after normalisation and before its weight, and the weighted totals."""

    rows: RowArray
    by_plugin: dict[str, Integers]
    totals: Integers


class KeptScores:
    """PreScore and Score of one template.

    Plugins whose score reach for this template is CYCLE are asked about the feasible rows in every cycle; the others
    keep raw scores for all rows. While no normalisation depends on other rows, the totals are kept as well.
    """

    def __init__(self, template: PodTemplate, lineup: Lineup, cluster: Cluster) -> None:
        self._template = template
        self._lineup = lineup
        self._cluster = cluster
        self._reach: dict[str, Reach] = {}
        self._all_lasting = False
        self._says_skip: dict[str, bool] = {}
        self.columns: dict[str, ScoreColumn] = {}
        """Kept raw scores by plugin; `Kept` brings them up to date where rows have changed."""
        self._maxima: BlockMaxima | None = None
        self._others: list[ScoreColumn] = []
        self._offset = 0
        self._points_but_for_sums: Integers = np.zeros(0, dtype=np.int64)
        self.by_sums: list[ScoreColumn] = []
        self.has_row_columns = False
        self.columns_version = 0
        self.rows_asked = 0
        self._set_reach()

    def invalidate(self, stale: frozenset[str]) -> None:
        """The basis of these plugins has changed."""
        for name in stale:
            self.columns.pop(name, None)
            self._says_skip.pop(name, None)
        self._set_reach()
        self._columns_changed()

    def drop(self) -> None:
        """Everything may have changed."""
        self.columns.clear()
        self._columns_changed()

    def drop_totals(self) -> None:
        """Which rows are feasible has changed beyond the rows that `rows_changed` names."""
        self._maxima = None

    def rows_changed(self, rows: list[int], fits: Booleans) -> None:
        """The columns are up to date at these rows: take that over into the totals."""
        if self._maxima is None:
            return
        if not all(column.is_local for column in self.columns.values()):
            self.drop_totals()
            return
        for row in rows:
            points = self._offset + sum(column.weight * int(column.raw[row]) for column in self._others)
            self._points_but_for_sums[row] = points
            by_sums = sum(column.weight * int(column.raw[row]) for column in self.by_sums)
            self.settle(row, by_sums if fits[row] else None)

    def settle(self, row: int, points: int | None) -> None:
        """A row's total, given the weighted points of the plugins that see sums only; None: the row does not fit."""
        if self._maxima is not None:
            total = INFEASIBLE if points is None else points + int(self._points_but_for_sums[row])
            self._maxima.set(row, total)

    def ranked(
        self, state: CycleState, pod: PodInfo, fits: Booleans, inherit: Inherit[ScoreColumn]
    ) -> BlockMaxima | None:
        """The kept totals of all rows; None where they depend on other rows or on the cycle: ask `scores` then."""
        if self._maxima is not None:
            return self._maxima
        if not self._all_lasting:
            return None
        self._complete(state, pod, lambda: self._cluster.view(np.flatnonzero(fits)), inherit)
        columns = list(self.columns.values())
        if not all(column.is_local for column in columns):
            return None
        self._others = [column for column in columns if column not in self.by_sums and not column.normalizes]
        constants = [column for column in columns if column.normalizes]
        example = np.flatnonzero(fits)[:1]
        self._offset = sum(c.weight * int(normalized(c.plugin, state, pod, c.raw[example])[0]) for c in constants)
        self._points_but_for_sums = np.full(self._cluster.nodes.capacity, self._offset, dtype=np.int64)
        for column in self._others:
            self._points_but_for_sums += column.weighted(fits)
        totals = self._points_but_for_sums.copy()
        for column in self.by_sums:
            totals += column.weighted(fits)
        totals[~fits] = INFEASIBLE
        self._maxima = BlockMaxima(totals)
        return self._maxima

    def scores(self, state: CycleState, pod: PodInfo, rows: RowArray, inherit: Inherit[ScoreColumn]) -> Scores:
        """Scores of the given feasible rows, every plugin counted."""
        nodes = self._cluster.view(rows)
        self._complete(state, pod, lambda: nodes, inherit)
        by_plugin: dict[str, Integers] = {}
        # Without any score plugin every node is as good as the next: each gets 1 (prioritizeNodes).
        totals = np.full(len(rows), 0 if self._lineup.scores else 1, dtype=np.int64)
        for plugin, weight in self._lineup.scores:
            if plugin.name in state.skipped_scores:
                continue
            column = self.columns.get(plugin.name)
            raw = column.raw[rows] if column is not None else self.ask(plugin, state, pod, nodes)
            by_plugin[plugin.name] = normalized(plugin, state, pod, raw)
            totals += weight * by_plugin[plugin.name]
        return Scores(rows, by_plugin, totals)

    def ask(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers:
        self.rows_asked += len(nodes)
        return ask_score(plugin, state, pod, nodes)

    def _complete(
        self, state: CycleState, pod: PodInfo, feasible: Callable[[], NodeView], inherit: Inherit[ScoreColumn]
    ) -> None:
        """Run PreScore, and get scores of the plugins that keep them and have none yet."""
        timed_point(state.stopwatch, "PreScore", self._pre_score, state, pod, feasible)
        for plugin, weight in self._lineup.scores:
            name, reach = plugin.name, self._reach[plugin.name]
            if reach is Reach.CYCLE or name in state.skipped_scores or name in self.columns:
                continue
            inherited = inherit(name)
            if inherited is not None:
                column = inherited.column
                if inherited.rows:
                    changed = self._cluster.view(as_rows(inherited.rows))
                    column.merge(changed, self.ask(plugin, state, pod, changed))
            else:
                column = ScoreColumn(plugin, weight, reach, self._cluster.nodes.capacity)
                column.fill(self._ask_all(column, state, pod))
            self.columns[name] = column
            self._columns_changed()

    def _ask_all(self, column: ScoreColumn, state: CycleState, pod: PodInfo) -> Integers:
        """Scores of every row; where nodes that are alike get the same score, one of each kind is asked about."""
        table = self._cluster.nodes
        alike = table.sums.alike(len(table)) if column.reach is Reach.SUMS else None
        if alike is None:
            return self.ask(column.plugin, state, pod, self._cluster.view())
        return self.ask(column.plugin, state, pod, self._cluster.view(alike.rows))[alike.kind]

    def _columns_changed(self) -> None:
        self.columns_version += 1
        self.by_sums = [column for column in self.columns.values() if column.reach is Reach.SUMS]
        self.has_row_columns = any(column.reach is Reach.ROW for column in self.columns.values())
        self.drop_totals()

    def _pre_score(self, state: CycleState, pod: PodInfo, feasible: Callable[[], NodeView]) -> None:
        nodes: NodeView | None = None
        for plugin in self._lineup.pre_scores:
            name = plugin.name
            skip = self._says_skip.get(name)
            if skip is None:
                nodes = nodes or feasible()
                lasts = self._reach[name] is not Reach.CYCLE
                skip = ask_pre_score(plugin, state.lasting if lasts else state, pod, nodes).is_skip
                if lasts:
                    self._says_skip[name] = skip
            if skip:
                state.skipped_scores.add(name)

    def _set_reach(self) -> None:
        self._reach = {plugin.name: plugin.reach_of(self._template) for plugin in self._lineup.pre_scores}
        self._reach |= {plugin.name: plugin.score_reach_of(self._template) for plugin, _ in self._lineup.scores}
        self._all_lasting = Reach.CYCLE not in self._reach.values()
