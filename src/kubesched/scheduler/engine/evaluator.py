"""One pod against all nodes: the way from PreFilter to the choice of a node.

    evaluator.filter(pod)     ->  FeasibleNodes  which nodes take the pod, and why the others do not
    evaluator.rank(feasible)  ->  Ranking        how good they are
    ranking.best()            ->  a node

It is what `scratch` does, with answers that are kept: see `sharing.evaluation`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from random import Random
from typing import Final

import numpy as np

from kubesched.scheduler.columns import Booleans, ClusterTables, NodeView, PodInfo, WhatIf
from kubesched.scheduler.engine.feasible_nodes import FeasibleNodes
from kubesched.scheduler.engine.nominations import Nominations
from kubesched.scheduler.engine.plugin_calls import ProfilePlugins, ask_filter
from kubesched.scheduler.engine.ranking.ranking import Ranking
from kubesched.scheduler.engine.scratch import Rejection, Scores, run_filters, run_scores
from kubesched.scheduler.engine.sharing.evaluation import Evaluation
from kubesched.scheduler.engine.sharing.evaluation_cache import BYTES_FOR_EVALUATIONS, EvaluationCache
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
        plugins: ProfilePlugins,
        cluster: ClusterTables,
        nominator: Nominator,
        random: Random,
        stopwatch: Stopwatch | None = None,
        memory: int = BYTES_FOR_EVALUATIONS,
    ) -> None:
        """One attempt in ten is timed with the `stopwatch`. Kept answers take at most about `memory` bytes."""
        self.plugins = plugins
        self._cluster = cluster
        self._nominator = nominator
        self._nominations = Nominations(nominator, cluster)
        self._random = random
        self._stopwatch = stopwatch
        self._attempts = 0
        self._cache = EvaluationCache(plugins, cluster, memory)

    def filter(self, pod: PodInfo, placed_group_members: Set[str] = NOBODY) -> FeasibleNodes:
        """Run PreFilter and Filter. Raises PluginError if a plugin fails. For `placed_group_members` see CycleState."""
        signature = self._cache.signature_of(pod.template)
        evaluation = self._cache.evaluation_for(pod, signature)
        try:
            self._attempts += 1
            stopwatch = self._stopwatch if self._attempts % ATTEMPTS_PER_SAMPLE == 1 else None
            state = evaluation.start(pod, signature.versions, stopwatch)
            if placed_group_members:
                state.placed_group_members = placed_group_members
            if stopwatch is not None:
                return self._filter_timed(stopwatch, evaluation, state, pod)
            pre_filtered = evaluation.pre_filter(state, pod)
            feasible = FeasibleNodes(
                pod, state, self._cluster, pre_filtered, evaluation, self._cluster.nodes.node_count
            )
            if pre_filtered.status.is_success:
                self._filter(feasible)
            return feasible
        except BaseException:
            # A plugin that failed half-way left answers that are half true: they are not kept, nor shared.
            self._cache.drop(evaluation)
            raise

    def _filter(self, feasible: FeasibleNodes) -> None:
        names, evaluation, state = feasible.pre_filtered.node_names, feasible.evaluation, feasible.state
        if names is not None and len(names) <= _FEW_NODES and evaluation.pods <= _FEW_TIMES:
            feasible.start_from_scratch(names)
            in_question: Sequence[FilterPlugin] = self._filters(state)
        else:
            evaluation.top.update(state, feasible.pod)
            if names is not None:
                feasible.consider_only(names)
            in_question = evaluation.cycle_filters(state)
        if self._nominator.nominations:
            self._apply_nominations(feasible)
        for plugin in in_question:
            rows = feasible.rows()
            if not len(rows):
                return
            verdict = ask_filter(plugin, state, feasible.pod, self._cluster.view(rows))
            feasible.apply(Rejection(plugin.name, rows, verdict))

    def _filters(self, state: CycleState) -> list[FilterPlugin]:
        return [plugin for plugin in self.plugins.filters if plugin.name not in state.skipped_filters]

    def _filter_timed(
        self, stopwatch: Stopwatch, evaluation: Evaluation, state: CycleState, pod: PodInfo
    ) -> FeasibleNodes:
        """The same as in `filter`, with a look at the clock."""
        pre_filtered = stopwatch.point("PreFilter", evaluation.pre_filter, state, pod)
        feasible = FeasibleNodes(pod, state, self._cluster, pre_filtered, evaluation, self._cluster.nodes.node_count)
        skipped = state.skipped_filters
        stopwatch.evaluated("PreFilter", (p.name for p in self.plugins.pre_filters if p.name not in skipped))
        if pre_filtered.status.is_success:
            stopwatch.point("Filter", self._filter, feasible)
            stopwatch.evaluated("Filter", (plugin.name for plugin in self._filters(state)))
        return feasible

    def rank(self, feasible: FeasibleNodes) -> Ranking:
        """Run PreScore and Score over feasible nodes."""
        stopwatch = feasible.state.stopwatch
        if stopwatch is None:
            return self._rank(feasible)
        ranking = stopwatch.point("Score", self._rank, feasible)
        skipped = feasible.state.skipped_scores
        stopwatch.evaluated("PreScore", (p.name for p in self.plugins.pre_scores if p.name not in skipped))
        stopwatch.evaluated("Score", (p.name for p, _ in self.plugins.scores if p.name not in skipped))
        return ranking

    def _rank(self, feasible: FeasibleNodes) -> Ranking:
        if feasible.is_from_scratch:
            scores = self.score(feasible)
            return Ranking(self._cluster, self._random, (scores.rows, scores.totals))
        try:
            ranked = feasible.evaluation.totals.rank(feasible.state, feasible.pod, feasible.narrowed_to)
        except BaseException:
            self._cache.drop(feasible.evaluation)
            raise
        return Ranking(self._cluster, self._random, ranked)

    def score(self, feasible: FeasibleNodes) -> Scores:
        """The scores of every feasible node, plugin by plugin: for explanations."""
        rows, state, pod = feasible.rows(), feasible.state, feasible.pod
        if feasible.is_from_scratch:
            return run_scores(self.plugins, state, pod, self._cluster.view(rows))
        try:
            return feasible.evaluation.totals.scores(state, pod, rows)
        except BaseException:
            self._cache.drop(feasible.evaluation)
            raise

    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans:
        """Which nodes of a view (with its "what if") pass all filters, with nominated pods added and without.

        Those that have `passed_before` did so with other pods: whoever looks at nodes alone is not asked again.
        """
        filters = self._filters(state)
        by_pods = [plugin for plugin in filters if plugin.name not in self.plugins.by_node_alone]
        fits = nodes.exists
        for _, verdict in run_filters(by_pods if passed_before else filters, state, pod, nodes, fits):
            fits = fits & verdict.fitting
        nominated = self._nominated(pod, nodes)
        if nominated is not None:
            for _, verdict in run_filters(by_pods, state, pod, nominated, fits):
                fits = fits & verdict.fitting
        return fits

    def reasons_with_nominated(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Counter[str]:
        """Why nodes of a view fail the question of `fits_with_nominated`: each reason with its number of nodes.

        The pass with nominated pods comes first, and the first plugin that rejects a node speaks for it
        (RunFilterPluginsWithNominatedPods).
        """
        fits, reasons = nodes.exists, Counter[str]()
        nominated = self._nominated(pod, nodes)
        for supposed in [nodes] if nominated is None else [nominated, nodes]:
            for _, verdict in run_filters(self._filters(state), state, pod, supposed, fits):
                reasons += verdict.at(np.flatnonzero(fits)).histogram()
                fits = fits & verdict.fitting
        return reasons

    @property
    def hits(self) -> int:
        """How many pods found answers of earlier ones."""
        return self._cache.hits

    @property
    def misses(self) -> int:
        return self._cache.misses

    @property
    def rows_asked(self) -> int:
        """How many answers about single nodes plugins were asked for so far."""
        return self._cache.asked.count

    def forget(self) -> None:
        """Drop all kept answers."""
        self._cache.forget()

    def _apply_nominations(self, feasible: FeasibleNodes) -> None:
        """Nodes with nominated pods of equal or higher priority must take the pod with those pods added, too.

        That question comes first (RunFilterPluginsWithNominatedPods), so its rejection is the one that is reported.
        """
        pod, state = feasible.pod, feasible.state
        claimed = self._nominations.everywhere(pod)
        rows, nominated = feasible.considered(claimed.rows), claimed.pods
        nodes = self._cluster.view(rows)
        if len(rows) < len(claimed.rows):
            nominated = self._nominations.upon(pod, nodes)
        if nominated is None:
            return
        fits = np.ones(len(nodes), dtype=np.bool_)
        for plugin, verdict in run_filters(self._filters(state), state, pod, nodes.supposing(nominated), fits):
            rejected = np.flatnonzero(fits & ~verdict.fitting)
            if len(rejected):
                feasible.apply_foremost(Rejection(plugin.name, rows[rejected], verdict.at(rejected)))
                fits[rejected] = False

    def _nominated(self, pod: PodInfo, nodes: NodeView) -> NodeView | None:
        """The view with the nominated pods that a pod must yield to; None if there are none."""
        added = self._nominations.upon(pod, nodes) if self._nominator.nominations else None
        if added is None:
            return None
        what_if: WhatIf = added if nodes.what_if is None else nodes.what_if | added
        return nodes.supposing(what_if)
