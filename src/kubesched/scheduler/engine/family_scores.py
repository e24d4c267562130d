"""The scores that a whole family of templates shares."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

import numpy as np

from kubesched.scheduler.columns import Booleans, ClusterTables, Integers, NodeView, PodInfo
from kubesched.scheduler.engine.asked import Asked
from kubesched.scheduler.engine.lineup import Lineup, Reaches, ask_score
from kubesched.scheduler.engine.pre_scoring import PreScoreAnswers
from kubesched.scheduler.engine.score_column import ScoreColumn
from kubesched.scheduler.engine.tracker import MOST_ROWS_ONE_BY_ONE, RowArray
from kubesched.scheduler.framework import CycleState, DependsOn, ScorePlugin


class FamilyScores:
    """PreScore and Score of all plugins but those that see sums only.

    Plugins with the score dependency ANYTHING are asked about the feasible rows in every cycle; the others keep raw
    scores for all rows. A score is local if it depends on its row alone: it is not normalised, or normalised to a
    constant. The `points` are the sum of the local ones.
    """

    def __init__(self, reaches: Mapping[str, Reaches], lineup: Lineup, cluster: ClusterTables, asked: Asked) -> None:
        self._cluster = cluster
        self._asked = asked
        self._plugins = [
            (plugin, weight, reaches[plugin.name].score_depends_on)
            for plugin, weight in lineup.scores
            if reaches[plugin.name].score_depends_on is not DependsOn.NODE_RESOURCES
        ]
        pre_scores = [(plugin, reaches[plugin.name].score_depends_on) for plugin in lineup.pre_scores]
        self.pre_scores = PreScoreAnswers(
            [
                (plugin, depends_on is not DependsOn.ANYTHING)
                for plugin, depends_on in pre_scores
                if depends_on is not DependsOn.NODE_RESOURCES
            ]
        )
        self._least_total = 0 if lineup.scores else 1  # without score plugins every node gets 1 (prioritizeNodes)
        self._all_last = all(depends_on is not DependsOn.ANYTHING for _, depends_on in pre_scores) and all(
            depends_on is not DependsOn.ANYTHING for _, _, depends_on in self._plugins
        )
        self._by_name = {item[0].name: item for item in self._plugins}
        self._open = [*self._by_name]  # whose columns `complete` must look at
        self.look_at_pods = any(depends_on is DependsOn.NODE_AND_PODS for _, _, depends_on in self._plugins)
        """Whether a score may depend on the pods of its row, beyond their sums."""
        self.by_plugin: dict[str, ScoreColumn] = {}
        """Kept raw scores; the family brings them up to date where rows have changed."""
        self._points: Integers | int | None = None  # an array only where not all rows have the same
        self._uneven: list[ScoreColumn] = []
        self._constants: list[ScoreColumn] = []
        self._offset = 0
        self._not_local: list[tuple[ScorePlugin, int, ScoreColumn | None]] = []
        self._not_local_with = -1
        self.version = 0
        """Another one whenever any row's points or raw scores may have changed beyond what `rows_changed` names."""

    def are_settled(self) -> bool:
        """Nobody needs to be asked anything, as long as no row changes."""
        return self._all_last and not self._open

    def doubt(self, names: Collection[str]) -> None:
        """The external version of these plugins has changed."""
        self.pre_scores.doubt(names)
        self._open += names

    def drop(self) -> None:
        """Everything may have changed."""
        self.by_plugin.clear()
        self._open = [*self._by_name]
        self._drop_points()

    def ask(self, state: CycleState, pod: PodInfo, nodes: NodeView, reaches: Collection[DependsOn]) -> None:
        """Ask about some rows again, where scores are kept that are not known to be stale."""
        for column in self.by_plugin.values():
            if column.depends_on in reaches and not column.is_stale:
                column.merge(nodes, self._ask(column.plugin, state, pod, nodes))

    def catch_up(self, state: CycleState, pod: PodInfo, doubted: Mapping[str, Hashable]) -> list[int]:
        """The external versions of these plugins have changed since the given ones: ask about the rows they name.

        Returns these rows. A column whose plugin cannot tell is stale until `complete`.
        """
        asked: list[int] = []
        for name, since in doubted.items():
            column = self.by_plugin.get(name)
            if column is None or column.is_stale:
                continue
            rows = column.plugin.score_changes(pod.template, since)
            if rows is None or len(rows) > MOST_ROWS_ONE_BY_ONE:
                column.is_stale = True
            elif len(rows):
                nodes = self._cluster.view(rows)
                column.merge(nodes, self._ask(column.plugin, state, pod, nodes))
                asked += rows.tolist()
        return asked

    def rows_changed(self, rows: list[int], fits: Booleans) -> None:
        """The columns are up to date at these rows: take that over into the points."""
        if self._points is None:
            return
        if any(column.constant is None for column in self._constants):
            self._drop_points()
        elif isinstance(self._points, np.ndarray):
            for row in rows:
                is_checked = bool(fits[row])
                self._points[row] = self._offset + sum([c.points_at(row, is_checked) for c in self._uneven])

    def complete(self, state: CycleState, pod: PodInfo) -> None:
        """After PreScore: get the scores that plugins keep and that are not there yet, or stale."""
        if not self._open:
            return
        for name in self._open:
            if (known := self._by_name.get(name)) is None:
                continue
            plugin, weight, depends_on = known
            column = self.by_plugin.get(name)
            if depends_on is DependsOn.ANYTHING or name in state.skipped_scores:
                if column is not None:
                    del self.by_plugin[name]
                    self._drop_points()
            elif column is None:
                column = self.by_plugin[name] = ScoreColumn(plugin, weight, depends_on, self._cluster.nodes.capacity)
                column.fill(self._ask(plugin, state, pod, self._cluster.view()))
                self._drop_points()
            elif column.is_stale:
                self._renew(column, state, pod)
        self._open.clear()

    def points(self, state: CycleState, pod: PodInfo, fits: Booleans) -> Integers | int:
        """Per row: the points of the local scores; one number where they are the same everywhere. Don't write to it."""
        if self._points is None:
            columns = self.by_plugin.values()
            self._constants = [column for column in columns if column.constant is not None]
            self._uneven = [column for column in columns if column.constant is None and not column.normalizes]
            self._points = self._offset = self._constant_points(state, pod)
            for column in self._uneven:
                self._points = column.weighted(fits) + self._points
        return self._points

    def points_at(self, row: int) -> int:
        """The points of a row, once `points` was called."""
        points = self._points
        assert points is not None, "made before anybody adds them up"
        return points if isinstance(points, int) else int(points[row])

    def points_of(self, rows: RowArray) -> Integers | int:
        """As `points_at`, for many rows at once."""
        points = self._points
        assert points is not None, "made before anybody adds them up"
        return points if isinstance(points, int) else points[rows]

    def not_local(self, state: CycleState) -> list[tuple[ScorePlugin, int, ScoreColumn | None]]:
        """The plugins whose scores depend on other rows or on the cycle, with their weights and kept raw scores.

        Once `points` was called: no column becomes local, or ceases to be, without another version from then on.
        """
        if self._not_local_with != self.version:
            self._not_local_with = self.version
            columns = [
                (plugin, weight, self.by_plugin.get(plugin.name), depends_on)
                for plugin, weight, depends_on in self._plugins
            ]
            self._not_local = [
                (plugin, weight, column)
                for plugin, weight, column, depends_on in columns
                if depends_on is DependsOn.ANYTHING or (column is not None and not column.is_local)
            ]
        if self._all_last:
            return self._not_local
        skipped = state.skipped_scores
        return [item for item in self._not_local if item[2] is not None or item[0].name not in skipped]

    def _renew(self, column: ScoreColumn, state: CycleState, pod: PodInfo) -> None:
        """Bring a stale column up to date."""
        constant, was_local = column.constant, column.is_local
        has_changed = column.fill(self._ask(column.plugin, state, pod, self._cluster.view()))
        if not has_changed:
            return
        if not (was_local or column.is_local):
            self.version += 1
            return
        if self._points is None:
            return
        is_another_constant = constant is not None and column.constant is not None
        if not is_another_constant or self._offset != self._constant_points(state, pod):
            self._drop_points()

    def _constant_points(self, state: CycleState, pod: PodInfo) -> int:
        """The points that every row gets."""
        return self._least_total + sum([column.constant_points(state, pod) for column in self._constants])

    def _ask(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers:
        self._asked.rows += len(nodes)
        return ask_score(plugin, state, pod, nodes)

    def _drop_points(self) -> None:
        self._points = None
        self.version += 1
