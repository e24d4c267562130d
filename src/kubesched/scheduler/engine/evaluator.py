"""One pod against all nodes: the way from PreFilter to the choice of a node.

evaluator.filter(pod)  ->  Fit      which nodes take the pod, and why the others do not
evaluator.rank(fit)    ->  Ranking  how good the feasible ones are
ranking.best()         ->  a node
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from random import Random
from typing import Final

import numpy as np

from kubesched.scheduler.columns import Booleans, ClusterTables, NodeView, PodInfo, WhatIf
from kubesched.scheduler.engine.evaluations import BYTES_FOR_EVALUATIONS, Evaluations
from kubesched.scheduler.engine.fit import Fit
from kubesched.scheduler.engine.kept import Kept
from kubesched.scheduler.engine.lineup import Lineup, ask_filter
from kubesched.scheduler.engine.nominations import Nominations
from kubesched.scheduler.engine.ranking import Ranking
from kubesched.scheduler.engine.row_statuses import PluginVerdict
from kubesched.scheduler.engine.totals import Scores
from kubesched.scheduler.framework import CycleState, FilterPlugin, Nominator, Stopwatch
from kubesched.scheduler.framework.cycle_state import NOBODY
from kubesched.scheduler.framework.stopwatch import ATTEMPTS_PER_SAMPLE

_FEW_NODES: Final = 8
_FEW_TIMES: Final = 4
"""A pod that is limited to so few nodes (as those of a DaemonSet are) is compared with these alone.

It is mostly the only one of its kind; if so many have come, answers are kept as for any other pod.
"""


class Evaluator:
    """A profile's engine. Results equal an evaluation from scratch, always; what did not change is not asked again."""

    def __init__(
        self,
        lineup: Lineup,
        cluster: ClusterTables,
        nominator: Nominator,
        random: Random,
        stopwatch: Stopwatch | None = None,
        memory: int = BYTES_FOR_EVALUATIONS,
    ) -> None:
        """One attempt in ten is timed with the `stopwatch`. Kept answers take at most about `memory` bytes."""
        self._lineup = lineup
        self._cluster = cluster
        self._nominator = nominator
        self._nominations = Nominations(nominator, cluster)
        self._random = random
        self._stopwatch = stopwatch
        self._attempts = 0
        self._evaluations = Evaluations(lineup, cluster, memory)

    def filter(self, pod: PodInfo, placed_group_members: Set[str] = NOBODY) -> Fit:
        """Run PreFilter and Filter. Raises PluginError if a plugin fails. For `placed_group_members` see CycleState."""
        standing = self._evaluations.standing_of(pod.template)
        kept = self._evaluations.kept_for(pod, standing)
        try:
            stopwatch = self._next_stopwatch()
            state = kept.start(pod, standing.bases, stopwatch)
            if placed_group_members:
                state.placed_group_members = placed_group_members
            if stopwatch is not None:
                return self._filter_timed(stopwatch, kept, state, pod)
            pre_filtered = kept.pre_filter(state, pod)
            fit = Fit(pod, state, self._cluster, pre_filtered, kept, self._cluster.nodes.node_count)
            if fit.pre_filtered.status.is_success:
                self._filter(fit)
            return fit
        except BaseException:
            # A plugin that failed half-way left answers that are half true: they are not kept, nor shared.
            self._evaluations.drop(kept)
            raise

    def _filter(self, fit: Fit) -> None:
        names = fit.pre_filtered.node_names
        if names is not None and len(names) <= _FEW_NODES and fit.kept.starts <= _FEW_TIMES:
            fit.ask_only_about(names)
        else:
            fit.kept.refresh(fit.state, fit.pod)
            if names is not None:
                fit.consider_only(names)
        if self._nominator.nominations:
            self._apply_nominations(fit)
        self._ask_cycle_filters(fit)

    def _filter_timed(self, stopwatch: Stopwatch, kept: Kept, state: CycleState, pod: PodInfo) -> Fit:
        """The same as in `filter`, looked at."""
        pre_filtered = stopwatch.point("PreFilter", kept.pre_filter, state, pod)
        fit = Fit(pod, state, self._cluster, pre_filtered, kept, self._cluster.nodes.node_count)
        skipped = state.skipped_filters
        stopwatch.evaluated("PreFilter", (p.name for p in self._lineup.pre_filters if p.name not in skipped))
        if pre_filtered.status.is_success:
            stopwatch.point("Filter", self._filter, fit)
            stopwatch.evaluated("Filter", (p.name for p in self._lineup.filters if p.name not in skipped))
        return fit

    def _next_stopwatch(self) -> Stopwatch | None:
        self._attempts += 1
        return self._stopwatch if self._attempts % ATTEMPTS_PER_SAMPLE == 1 else None

    def rank(self, fit: Fit) -> Ranking:
        """Run PreScore and Score over the feasible nodes of a fit."""
        stopwatch = fit.state.stopwatch
        if stopwatch is None:
            return self._rank(fit)
        ranking = stopwatch.point("Score", self._rank, fit)
        skipped = fit.state.skipped_scores
        stopwatch.evaluated("PreScore", (p.name for p in self._lineup.pre_scores if p.name not in skipped))
        stopwatch.evaluated("Score", (p.name for p, _ in self._lineup.scores if p.name not in skipped))
        return ranking

    def _rank(self, fit: Fit) -> Ranking:
        try:
            if fit.is_narrow:
                fit.kept.refresh(fit.state, fit.pod)
            ranked = fit.kept.ranked(fit.state, fit.pod, fit.narrowed_to)
        except BaseException:
            self._evaluations.drop(fit.kept)
            raise
        return Ranking(self._cluster, self._random, ranked)

    def score(self, fit: Fit) -> Scores:
        """The scores of every feasible node, plugin by plugin: for explanations."""
        try:
            if fit.is_narrow:
                fit.kept.refresh(fit.state, fit.pod)
            return fit.kept.scored(fit.state, fit.pod, fit.rows())
        except BaseException:
            self._evaluations.drop(fit.kept)
            raise

    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans:
        """Which nodes of a view (with its "what if") pass all filters, with nominated pods added and without.

        Those that have `passed_before` did so with other pods: whoever looks at nodes alone is not asked again.
        """
        plugins = [plugin for plugin in self._lineup.filters if plugin.name not in state.skipped_filters]
        by_pods = [plugin for plugin in plugins if plugin.name not in self._lineup.by_node_alone]
        fits = self._passes(by_pods if passed_before else plugins, state, pod, nodes)
        nominated = self._nominated(pod, nodes)
        if nominated is None or not fits.any():
            return fits
        supposed = nominated if nodes.what_if is None else nodes.what_if | nominated
        return fits & self._passes(by_pods, state, pod, nodes.supposing(supposed))

    def reasons_with_nominated(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Counter[str]:
        """Why nodes of a view fail the question of `fits_with_nominated`: each reason with its number of nodes.

        The pass with nominated pods comes first, and the first plugin that rejects a node speaks for it
        (RunFilterPluginsWithNominatedPods).
        """
        plugins = [plugin for plugin in self._lineup.filters if plugin.name not in state.skipped_filters]
        open_nodes, reasons = nodes.exists, Counter[str]()
        nominated = self._nominated(pod, nodes)
        worlds = [nodes]
        if nominated is not None:
            worlds.insert(0, nodes.supposing(nominated if nodes.what_if is None else nodes.what_if | nominated))
        for world in worlds:
            for plugin in plugins:
                verdict = ask_filter(plugin, state, pod, world, open_nodes)
                reasons += verdict.at(np.flatnonzero(open_nodes)).histogram()
                open_nodes = open_nodes & verdict.fitting
        return reasons

    @property
    def hits(self) -> int:
        """How many pods found answers of earlier ones."""
        return self._evaluations.hits

    @property
    def misses(self) -> int:
        return self._evaluations.misses

    @property
    def rows_asked(self) -> int:
        """How many answers about single nodes plugins were asked for so far."""
        return self._evaluations.asked.rows

    def forget(self) -> None:
        """Drop all kept answers."""
        self._evaluations.forget()

    def _ask_cycle_filters(self, fit: Fit) -> None:
        """Plugins that keep nothing are asked about the rows that are still feasible, one after the other."""
        plugins = fit.kept.cycle_filters(fit.state)
        if fit.is_narrow:
            plugins = [plugin for plugin in self._lineup.filters if plugin.name not in fit.state.skipped_filters]
        for plugin in plugins:
            rows = fit.rows()
            if not len(rows):
                return
            verdict = ask_filter(plugin, fit.state, fit.pod, self._cluster.view(rows))
            fit.apply(PluginVerdict(plugin.name, rows, verdict))

    def _apply_nominations(self, fit: Fit) -> None:
        """Nodes with nominated pods of equal or higher priority must take the pod with those pods added, too.

        That question comes first (RunFilterPluginsWithNominatedPods), so its rejection is the one that is reported.
        """
        claimed = self._nominations.everywhere(fit.pod)
        rows, nominated = fit.considered(claimed.rows), claimed.pods
        nodes = self._cluster.view(rows)
        if len(rows) < len(claimed.rows):
            nominated = self._nominations.upon(fit.pod, nodes)
        if nominated is None:
            return
        supposed = nodes.supposing(nominated)
        open_nodes = np.ones(len(nodes), dtype=np.bool_)
        for plugin in self._lineup.filters:
            if plugin.name not in fit.state.skipped_filters:
                verdict = ask_filter(plugin, fit.state, fit.pod, supposed, open_nodes)
                rejected = np.flatnonzero(open_nodes & ~verdict.fitting)
                if len(rejected):
                    fit.apply_foremost(PluginVerdict(plugin.name, rows[rejected], verdict.at(rejected)))
                    open_nodes[rejected] = False

    def _nominated(self, pod: PodInfo, nodes: NodeView) -> WhatIf | None:
        """The nominated pods that a pod must yield to, as additions to the rows of a view."""
        return self._nominations.upon(pod, nodes) if self._nominator.nominations else None

    @staticmethod
    def _passes(plugins: Sequence[FilterPlugin], state: CycleState, pod: PodInfo, nodes: NodeView) -> Booleans:
        fits = nodes.exists
        for plugin in plugins:
            if not fits.any():
                break
            fits = fits & ask_filter(plugin, state, pod, nodes, fits).fitting
        return fits
