"""The scores of plugins that see nothing but the sums of nodes' resources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kubesched.scheduler.columns import Booleans, ClusterTables, Integers, NodeView, PodInfo, Positions
from kubesched.scheduler.engine.asked import Asked
from kubesched.scheduler.engine.lineup import ask_score
from kubesched.scheduler.engine.pre_scoring import PreScoreAnswers
from kubesched.scheduler.engine.score_column import ScoreColumn, normalized
from kubesched.scheduler.engine.tracker import RowArray
from kubesched.scheduler.framework import CycleState, DependsOn, PreScorePlugin, ScorePlugin


class SumScores:
    """PreScore and Score of the plugins with the score dependency NODE_RESOURCES. None of them normalises."""

    def __init__(
        self,
        plugins: Sequence[tuple[ScorePlugin, int]],
        pre_scores: Sequence[tuple[PreScorePlugin, bool]],
        cluster: ClusterTables,
        asked: Asked,
    ) -> None:
        self._plugins = plugins
        self._pre_score_plugins = pre_scores
        self._cluster = cluster
        self._asked = asked
        self.pre_scores = PreScoreAnswers(pre_scores)
        self.by_plugin: dict[str, ScoreColumn] = {}
        self._is_complete = False
        self.version = 0
        """Another one whenever columns came or went."""

    def drop(self) -> None:
        """Everything may have changed."""
        self.by_plugin.clear()
        self.version += 1
        self.pre_scores = PreScoreAnswers(self._pre_score_plugins)
        self._is_complete = False

    def complete(self, state: CycleState, pod: PodInfo) -> None:
        """After PreScore: get the scores that are not there yet."""
        if self._is_complete:
            return
        every_kind = self._one_of_each_kind()
        for plugin, weight in self._plugins:
            if plugin.name not in state.skipped_scores:
                column = ScoreColumn(plugin, weight, DependsOn.NODE_RESOURCES, self._cluster.nodes.capacity)
                column.fill(self._ask_all(plugin, state, pod, every_kind))
                self.by_plugin[plugin.name] = column
        self._is_complete = True
        self.version += 1

    def ask(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        """Ask about some rows again."""
        for column in self.by_plugin.values():
            column.merge(nodes, self._ask(column.plugin, state, pod, nodes))

    def points(self, fits: Booleans) -> Integers:
        """Per row: the weighted scores together, in an array of its own; those of feasible rows are checked."""
        points = np.zeros(self._cluster.nodes.capacity, dtype=np.int64)
        for column in self.by_plugin.values():
            points += column.weighted(fits)
        return points

    def points_of(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers:
        """The points of some feasible rows, without keeping anything."""
        points: Integers | None = None
        every_kind = self._one_of_each_kind()
        for plugin, weight in self._plugins:
            if plugin.name not in state.skipped_scores:
                scores = normalized(plugin, state, pod, self._ask_all(plugin, state, pod, every_kind)[nodes.rows])
                weighted = scores if weight == 1 else scores * weight
                points = weighted if points is None else points + weighted
        return points if points is not None else np.zeros(len(nodes), dtype=np.int64)

    def points_at(self, row: int, is_feasible: bool) -> int:
        return sum([column.points_at(row, is_feasible) for column in self.by_plugin.values()])

    def points_at_all(self, rows: RowArray, fits: Booleans) -> Integers:
        """As `points_at`, for many rows at once."""
        points = np.zeros(len(rows), dtype=np.int64)
        for column in self.by_plugin.values():
            points += column.weighted_at(rows, fits)
        return points

    def _one_of_each_kind(self) -> tuple[NodeView, Positions | None]:
        """All rows; or where many nodes are alike, a row of each kind, and the kind of every row."""
        table = self._cluster.nodes
        alike = table.sums.alike(len(table))
        return (self._cluster.view(), None) if alike is None else (self._cluster.view(alike.rows), alike.kind)

    def _ask_all(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, every_kind: tuple[NodeView, Positions | None]
    ) -> Integers:
        """Scores of every row, of which these stand for all."""
        nodes, kinds = every_kind
        scores = self._ask(plugin, state, pod, nodes)
        return scores if kinds is None else scores[kinds]

    def _ask(self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers:
        self._asked.rows += len(nodes)
        return ask_score(plugin, state, pod, nodes)
