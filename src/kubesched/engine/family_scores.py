"""The scores that a whole family of templates shares."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

import numpy as np

from kubesched.columns import Booleans, Cluster, Integers, NodeView, PodInfo
from kubesched.engine.asked import Asked
from kubesched.engine.lineup import Lineup, Reaches, ask_score
from kubesched.engine.pre_scoring import PreScoreAnswers
from kubesched.engine.score_column import ScoreColumn
from kubesched.engine.tracker import MOST_ROWS_ONE_BY_ONE, RowArray
from kubesched.framework import CycleState, Reach, ScorePlugin


class FamilyScores:
    """PreScore and Score of all plugins but those that see sums only.

    Plugins with the score reach CYCLE are asked about the feasible rows in every cycle; the others keep raw scores for
    all rows. A score is local if it depends on its row alone: it is not normalised, or normalised to a constant. The
    `points` are the sum of the local ones.
    """

    def __init__(self, reaches: Mapping[str, Reaches], lineup: Lineup, cluster: Cluster, asked: Asked) -> None:
        self._cluster = cluster
        self._asked = asked
        self._plugins = [
            (plugin, weight, reaches[plugin.name].score_reach)
            for plugin, weight in lineup.scores
            if reaches[plugin.name].score_reach is not Reach.SUMS
        ]
        pre_scores = [(plugin, reaches[plugin.name].score_reach) for plugin in lineup.pre_scores]
        self.pre_scores = PreScoreAnswers(
            [(plugin, reach is not Reach.CYCLE) for plugin, reach in pre_scores if reach is not Reach.SUMS]
        )
        self._least_total = 0 if lineup.scores else 1  # without score plugins every node gets 1 (prioritizeNodes)
        self._all_last = all(reach is not Reach.CYCLE for _, reach in pre_scores) and all(
            reach is not Reach.CYCLE for _, _, reach in self._plugins
        )
        self._by_name = {item[0].name: item for item in self._plugins}
        self._open = [*self._by_name]  # whose columns `complete` must look at
        self.look_at_pods = any(reach is Reach.ROW for _, _, reach in self._plugins)
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
        """The basis of these plugins has changed."""
        self.pre_scores.doubt(names)
        self._open += names

    def drop(self) -> None:
        """Everything may have changed."""
        self.by_plugin.clear()
        self._open = [*self._by_name]
        self._drop_points()

    def ask(self, state: CycleState, pod: PodInfo, nodes: NodeView, reaches: Collection[Reach]) -> None:
        """Ask about some rows again, where scores are kept that are not known to be stale."""
        for column in self.by_plugin.values():
            if column.reach in reaches and not column.is_stale:
                column.merge(nodes, self._ask(column.plugin, state, pod, nodes))

    def catch_up(self, state: CycleState, pod: PodInfo, doubted: Mapping[str, Hashable]) -> list[int]:
        """The basis of these plugins has changed since they had the given ones: ask about the rows that they name.

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
            plugin, weight, reach = known
            column = self.by_plugin.get(name)
            if reach is Reach.CYCLE or name in state.skipped_scores:
                if column is not None:
                    del self.by_plugin[name]
                    self._drop_points()
            elif column is None:
                column = self.by_plugin[name] = ScoreColumn(plugin, weight, reach, self._cluster.nodes.capacity)
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
                (plugin, weight, self.by_plugin.get(plugin.name), reach) for plugin, weight, reach in self._plugins
            ]
            self._not_local = [
                (plugin, weight, column)
                for plugin, weight, column, reach in columns
                if reach is Reach.CYCLE or (column is not None and not column.is_local)
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
