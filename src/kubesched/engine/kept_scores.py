"""The scores for one pod template, kept while they stay true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kubesched.columns import Booleans, Cluster, Integers, NodeView, PodInfo, PodTemplate
from kubesched.engine.lineup import Lineup, ask_pre_score, ask_score
from kubesched.engine.score_column import ScoreColumn, normalized
from kubesched.engine.selection import INFEASIBLE, BlockMaxima
from kubesched.engine.tracker import Changes, ChangeTracker, RowArray
from kubesched.framework import CycleState, Reach, ScorePlugin


@dataclass(frozen=True, slots=True)
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
        self._lineup = lineup
        self._cluster = cluster
        self._reach = {plugin.name: plugin.reach_of(template) for plugin in lineup.pre_scores}
        self._reach |= {plugin.name: plugin.score_reach_of(template) for plugin, _ in lineup.scores}
        self._all_lasting = Reach.CYCLE not in self._reach.values()
        self._says_skip: dict[str, bool] = {}
        self._columns: dict[str, ScoreColumn] = {}
        self._tracker = ChangeTracker(cluster.nodes)
        self._maxima: BlockMaxima | None = None
        self._ranked_fits = -1
        self.rows_asked = 0

    def invalidate(self, stale: frozenset[str]) -> None:
        """The basis of these plugins has changed."""
        for name in stale:
            self._columns.pop(name, None)
            self._says_skip.pop(name, None)

    def ranked(self, state: CycleState, pod: PodInfo, fits: Booleans, version: int) -> BlockMaxima | None:
        """The kept totals of all rows; None where they depend on other rows or on the cycle: ask `scores` then.

        `fits` says which rows are feasible; `version` changes whenever more than the changed rows did.
        """
        if not self._all_lasting:
            return None
        self._pre_score(state, pod, lambda: self._cluster.view(np.flatnonzero(fits)))
        had = len(self._columns)
        changes = self._refresh(state, pod)
        columns = list(self._columns.values())
        if not all(column.is_local for column in columns):
            self._maxima = None
            return None
        if self._maxima is None or changes.everything or had != len(columns) or version != self._ranked_fits:
            self._maxima = BlockMaxima(np.full(self._cluster.nodes.capacity, INFEASIBLE, dtype=np.int64))
            self._write_totals(state, pod, columns, np.flatnonzero(fits))
            self._maxima.refresh_all()
            self._ranked_fits = version
        elif len(rows := changes.rows):
            self._maxima.totals[rows] = INFEASIBLE
            self._write_totals(state, pod, columns, rows[fits[rows]])
            self._maxima.refresh_rows(rows)
        return self._maxima

    def scores(self, state: CycleState, pod: PodInfo, rows: RowArray) -> Scores:
        """Scores of the given feasible rows, every plugin counted."""
        nodes = self._cluster.view(rows)
        self._pre_score(state, pod, lambda: nodes)
        self._refresh(state, pod)
        self._maxima = None  # what changed since is not in the kept totals
        by_plugin: dict[str, Integers] = {}
        totals = np.zeros(len(rows), dtype=np.int64)
        for plugin, weight in self._lineup.scores:
            if plugin.name in state.skipped_scores:
                continue
            column = self._columns.get(plugin.name)
            raw = column.raw[rows] if column is not None else self._ask(plugin, state, pod, nodes)
            by_plugin[plugin.name] = normalized(plugin, state, pod, raw)
            totals += weight * by_plugin[plugin.name]
        return Scores(rows, by_plugin, totals)

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

    def _refresh(self, state: CycleState, pod: PodInfo) -> Changes:
        """Bring the kept columns up to date."""
        changes = self._tracker.changes()
        if changes.everything:
            self._columns.clear()
        for plugin, weight in self._lineup.scores:
            name, reach = plugin.name, self._reach[plugin.name]
            if reach is Reach.CYCLE or name in state.skipped_scores:
                continue
            column = self._columns.get(name)
            if column is None:
                nodes = self._cluster.view()
                column = self._columns[name] = ScoreColumn(plugin, weight, reach, self._cluster.nodes.capacity)
                column.merge(nodes, self._ask(plugin, state, pod, nodes))
            elif len(rows := changes.nodes if reach is Reach.NODE else changes.rows):
                nodes = self._cluster.view(rows)
                column.merge(nodes, self._ask(plugin, state, pod, nodes))
        return changes

    def _ask(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers:
        self.rows_asked += len(nodes)
        return ask_score(plugin, state, pod, nodes)

    def _write_totals(self, state: CycleState, pod: PodInfo, columns: list[ScoreColumn], rows: RowArray) -> None:
        assert self._maxima is not None
        totals = np.zeros(len(rows), dtype=np.int64)
        for column in columns:
            totals += column.weight * normalized(column.plugin, state, pod, column.raw[rows])
        self._maxima.totals[rows] = totals
