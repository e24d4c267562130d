"""All that is kept for pod templates that no plugin can tell apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kubesched.scheduler.columns import ClusterTables, PodInfo
from kubesched.scheduler.engine.answers.filter_column import FilterColumn
from kubesched.scheduler.engine.answers.layer import AnswerLayer
from kubesched.scheduler.engine.plugin_calls import AskedRows, PreFilterAnswer, ProfilePlugins
from kubesched.scheduler.engine.ranking.totals import Totals
from kubesched.scheduler.engine.scratch import PreFiltered, run_pre_filters
from kubesched.scheduler.engine.sharing.template_signature import Layout
from kubesched.scheduler.framework import CycleState, FilterPlugin, PreFilterPlugin, Stopwatch


class Evaluation:
    """A pile of layers, what PreFilter came to, and the totals of the scores.

    Used in the order of a pod's way: `start`, `pre_filter`, `top.update`, then `totals.rank` or `totals.scores`.
    """

    def __init__(
        self,
        layers: Sequence[AnswerLayer],
        layout: Layout,
        plugins: ProfilePlugins,
        cluster: ClusterTables,
        asked: AskedRows,
    ) -> None:
        self.top = layers[-1]
        """Says what is feasible, once it is updated: only after a PreFilter that did not reject the pod."""
        self._layers = layers
        self._layout = layout
        self._plugins = plugins
        self._cluster = cluster
        self.totals = Totals(layers, layout.cycle_pre_scores, layout.cycle_scores, plugins, cluster, asked)
        self._pre_filtered: PreFiltered | None = None
        self._pre_filters_revision = -1  # of all layers together, when that was found
        self.pods = 0
        """How many have come so far."""

    def start(self, pod: PodInfo, versions: list[Hashable], stopwatch: Stopwatch | None) -> CycleState:
        """A state for a pod's cycle. The versions are those of the template's signature."""
        self.pods += 1
        for layer in self._layers:
            if layer.versions is not versions:
                layer.invalidate(versions)
            layer.state.stopwatch = stopwatch
        return CycleState(pod, self.top.state, stopwatch=stopwatch)

    def pre_filter(self, state: CycleState, pod: PodInfo) -> PreFiltered:
        revision = 0  # those of the layers only grow, so does their sum
        for layer in self._layers:
            if layer.stale.pre_filters:
                layer.update_pre_filters(pod)
            revision += layer.pre_filters_revision
        pre_filtered = self._pre_filtered
        if pre_filtered is None or revision != self._pre_filters_revision or self._layout.asks_pre_filters:
            pre_filtered = self._pre_filtered_by_parent(pod) or self._run_pre_filters(state, pod)
            self._pre_filtered, self._pre_filters_revision = pre_filtered, revision
        state.skipped_filters = pre_filtered.skipped
        return pre_filtered

    def _pre_filtered_by_parent(self, pod: PodInfo) -> PreFiltered | None:
        """What PreFilter came to for another template upon the same layers, if the top layer adds nothing to that."""
        parent = self.top.parent
        if parent is None or parent.pre_filtered is None or self._layout.asks_pre_filters:
            return None
        revision, pre_filtered = parent.pre_filtered
        if revision != self._revision_below() or not self.top.passes_pre_filters(pod):
            return None
        return pre_filtered

    def _revision_below(self) -> int:
        return sum([layer.pre_filters_revision for layer in self._layers[:-1]])

    def _run_pre_filters(self, state: CycleState, pod: PodInfo) -> PreFiltered:
        """Ask the plugins whose answers are not kept, or not yet."""
        layers, keeping = self._layers, self._layout.keeping_pre_filters
        known: dict[str, PreFilterAnswer] = {}
        for layer in layers:
            known |= layer.pre_filters

        def state_of(plugin: PreFilterPlugin) -> CycleState:
            return layers[keeping[plugin.name]].state if plugin.name in keeping else state

        pre_filtered, answers = run_pre_filters(self._plugins, state_of, pod, self._cluster.view(), known)
        for name, answer in answers.items():
            if name in keeping and name not in known:
                layers[keeping[name]].pre_filters[name] = answer
        parent = self.top.parent
        if parent is not None and pre_filtered.status.is_success and self.top.passes_pre_filters(pod):
            parent.pre_filtered = self._revision_below(), pre_filtered
        return pre_filtered

    def cycle_filters(self, state: CycleState) -> list[FilterPlugin]:
        """The plugins that must be asked in every cycle, in the order of the profile."""
        if not self._layout.asks_filters:
            for layer in self._layers:
                if layer.unkept:
                    break
            else:
                return []
        return [plugin for plugin, column in self.in_order(state) if column is None]

    def in_order(
        self, state: CycleState, *, with_columns: bool = True
    ) -> list[tuple[FilterPlugin, FilterColumn | None]]:
        """The plugins that filter, in the order of the profile, with their answers where such are kept."""
        columns: dict[str, FilterColumn] = {}
        for layer in self._layers if with_columns else ():
            columns |= layer.filters
        return [
            (plugin, columns.get(plugin.name))
            for plugin in self._plugins.filters
            if plugin.name not in state.skipped_filters
        ]
