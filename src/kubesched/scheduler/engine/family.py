"""What templates share that differ only in what they take of a node's resources."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

import numpy as np

from kubesched.scheduler.columns import Booleans, ClusterTables, Journal, PodInfo
from kubesched.scheduler.engine.asked import Asked
from kubesched.scheduler.engine.family_scores import FamilyScores
from kubesched.scheduler.engine.filter_columns import FilterColumns
from kubesched.scheduler.engine.lineup import Lineup, Reaches
from kubesched.scheduler.engine.pre_filtering import PassedPreFilters, PreFilterAnswers
from kubesched.scheduler.engine.standing import Standing
from kubesched.scheduler.engine.tracker import MOST_ROWS_ONE_BY_ONE, ChangeTracker, as_rows
from kubesched.scheduler.framework import (
    CycleState,
    DependsOn,
    FilterPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)

_KEPT: Final = (DependsOn.NODE, DependsOn.NODE_AND_PODS)


class BySums(NamedTuple):
    """The plugins that see sums only, by extension point."""

    pre_filters: list[PreFilterPlugin]
    filters: list[tuple[FilterPlugin, DependsOn]]
    pre_scores: list[tuple[PreScorePlugin, bool]]
    scores: list[tuple[ScorePlugin, int]]
    with_basis: list[tuple[str, int]]
    """Those with a external version, each with its place among the lineup's `with_basis`."""


class Family:
    """The answers of all plugins but those that see sums only, for templates that these cannot tell apart.

    After `refresh` they equal what the plugins would answer if all of them were asked about every row.
    """

    def __init__(self, pod: PodInfo, standing: Standing, lineup: Lineup, cluster: ClusterTables, asked: Asked) -> None:
        self._lineup = lineup
        self._cluster = cluster
        self._bases = standing.bases
        self._doubted: dict[
            str, Hashable
        ] = {}  # plugins whose external version has changed since `refresh`, with the old ones
        self._tracker = ChangeTracker(cluster.nodes)
        self._is_settled = False  # no answer changes before a node does, or a external version
        self.lasting = CycleState(pod)
        """What plugins write in PreFilter and PreScore, where that outlives the cycle."""
        self.reaches = dict(zip(lineup.plugins, standing.reaches, strict=True))
        """By the names of plugins."""
        self.key = standing.family
        """What its templates have in common."""
        depends_on = {name: reaches.depends_on for name, reaches in self.reaches.items()}
        self.by_sums = _by_sums(self.reaches, lineup)
        self.pre_filters = PreFilterAnswers([p for p in lineup.pre_filters if depends_on[p.name] in _KEPT])
        self.filters = FilterColumns(
            [(p, depends_on[p.name]) for p in lineup.filters if depends_on[p.name] in _KEPT], cluster, asked
        )
        self.scores = FamilyScores(self.reaches, lineup, cluster, asked)
        self.asked_in_every_cycle = [p for p in lineup.filters if depends_on[p.name] is DependsOn.ANYTHING]
        self.pre_filters_last = all(depends_on[p.name] is not DependsOn.ANYTHING for p in lineup.pre_filters)
        self.passed_pre_filters: PassedPreFilters | None = None
        """Only where `pre_filters_last`."""
        self.fits: Booleans = np.zeros(0, dtype=np.bool_)
        """Per row: it has a node, and no kept filter rejects the pod there."""
        self.version = 0
        """Another one whenever `fits` was made anew."""
        self.changes: Journal[int] = Journal()
        """Rows at which `fits` or the points may have changed otherwise."""

    def start(self, bases: list[Hashable]) -> None:
        """Note whose external version has changed since the last time."""
        if bases is self._bases:
            return
        stale = self._lineup.with_other_basis(self._bases, bases)
        self._bases = bases
        if stale:
            self.pre_filters.doubt(stale)
            self.scores.doubt(stale)
            self._doubted = stale | self._doubted  # the oldest external version is the one that the columns have
            self._is_settled = False

    def drop(self) -> None:
        """Forget every answer: all plugins are asked about all rows again."""
        self.filters.drop()
        self.scores.drop()
        self._is_settled = False

    def refresh(self, state: CycleState, pod: PodInfo) -> None:
        """Ask again where something has changed; only after a PreFilter that did not reject the pod."""
        filters = self.filters
        if self._is_settled and self._tracker.same_nodes() and filters.are_complete(state):
            return
        changes = self._tracker.changes(with_pods=filters.look_at_pods or self.scores.look_at_pods)
        rows: list[int] = []
        if changes.everything:
            self.drop()
        else:
            if changes.pods:
                self._ask(state, pod, changes.pods, (DependsOn.NODE_AND_PODS,))
                rows += changes.pods
            if changes.nodes:
                self._ask(state, pod, changes.nodes, _KEPT)
                rows += changes.nodes
        if self._doubted:
            rows += filters.catch_up(state, pod, self._doubted)
            rows += self.scores.catch_up(state, pod, self._doubted)
            self._doubted = {}
        changed = filters.complete(state, pod)
        if changed is None or len(changed) > MOST_ROWS_ONE_BY_ONE:
            self.fits = self._cluster.nodes.exists.copy()
            filters.narrow(self.fits)
            self.version += 1
        else:
            rows += changed
            for row in rows:
                self.fits[row] = self._cluster.nodes.exists[row] and not filters.reject(row)
        if rows:
            self.scores.rows_changed(rows, self.fits)
            for row in rows:
                self.changes.append(row)
        self._is_settled = not (filters.look_at_pods or self.scores.look_at_pods)

    def _ask(self, state: CycleState, pod: PodInfo, rows: list[int], reaches: tuple[DependsOn, ...]) -> None:
        nodes = self._cluster.view(as_rows(rows))
        self.filters.ask(state, pod, nodes, reaches)
        self.scores.ask(state, pod, nodes, reaches)


def _by_sums(reaches: Mapping[str, Reaches], lineup: Lineup) -> BySums:
    filters = [plugin for plugin in lineup.filters if reaches[plugin.name].depends_on is DependsOn.NODE_RESOURCES]
    scores = [item for item in lineup.scores if reaches[item[0].name].score_depends_on is DependsOn.NODE_RESOURCES]
    return BySums(
        pre_filters=[
            plugin for plugin in lineup.pre_filters if reaches[plugin.name].depends_on is DependsOn.NODE_RESOURCES
        ],
        filters=[(plugin, DependsOn.NODE_RESOURCES) for plugin in filters],
        pre_scores=[
            (plugin, True)
            for plugin in lineup.pre_scores
            if reaches[plugin.name].score_depends_on is DependsOn.NODE_RESOURCES
        ],
        scores=scores,
        with_basis=[
            (plugin.name, number)
            for number, plugin in enumerate(lineup.with_basis)
            if any(plugin is one for one in (*filters, *(plugin for plugin, _ in scores)))
        ],
    )
