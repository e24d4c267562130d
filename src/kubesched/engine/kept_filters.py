"""The filters' answers for one pod template, kept while they stay true."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.columns import Booleans, Cluster, NodeView, PodInfo, PodTemplate
from kubesched.engine.filter_column import FilterColumn
from kubesched.engine.lineup import Lineup, ask_filter
from kubesched.engine.pre_filtering import PreFilterAnswer, PreFiltered, run_pre_filters
from kubesched.framework import CycleState, FilterPlugin, Plugin, Reach

_UNSEEN: Final = object()
_NONE_STALE: Final[frozenset[str]] = frozenset()


class KeptFilters:
    """PreFilter and Filter of one template over all rows.

    Plugins whose reach for this template is CYCLE are not kept: `cycle_filters` are left to the caller, which asks
    them about the rows that `fits` leaves.
    """

    def __init__(self, template: PodTemplate, lineup: Lineup, cluster: Cluster) -> None:
        self._template = template
        self._lineup = lineup
        self._cluster = cluster
        plugins: dict[str, Plugin] = {p.name: p for p in (*lineup.pre_filters, *lineup.filters)}
        plugins |= {p.name: p for p in lineup.pre_scores} | {p.name: p for p, _ in lineup.scores}
        self._reach = {name: plugin.reach_of(template) for name, plugin in plugins.items()}
        self._based = [p for p in plugins.values() if type(p).basis is not Plugin.basis]
        self._bases: dict[str, object] = {}
        self._answers: dict[str, PreFilterAnswer] = {}
        self._pre_filtered: PreFiltered | None = None
        self._all_lasting = self._pre_filters_last()
        self._lasting_state = CycleState(PodInfo(template.exemplar, template))
        self.columns: dict[str, FilterColumn] = {}
        """Kept answers by plugin; `Kept` brings them up to date where rows have changed."""
        self.fits: Booleans = np.zeros(0, dtype=np.bool_)
        """Per row: it has a node, and no kept filter rejects the pod there."""
        self.feasible = 0
        self.rows_asked = 0

    def start(self, pod: PodInfo) -> tuple[CycleState, frozenset[str]]:
        """A cycle state for a pod, and the plugins whose basis has changed since the last time."""
        stale = [plugin.name for plugin in self._based if self._basis_changed(plugin)]
        if not stale:
            return CycleState(pod, self._lasting_state), _NONE_STALE
        for name in stale:
            self._answers.pop(name, None)
            self.columns.pop(name, None)
        self._pre_filtered = None
        self._all_lasting = self._pre_filters_last()
        return CycleState(pod, self._lasting_state), frozenset(stale)

    def pre_filter(self, state: CycleState, pod: PodInfo) -> PreFiltered:
        if self._pre_filtered is None or not self._all_lasting:
            self._pre_filtered, answers = run_pre_filters(
                self._lineup,
                lambda plugin: state if self._reach[plugin.name] is Reach.CYCLE else state.lasting,
                pod,
                self._cluster.view(),
                self._answers,
            )
            self._answers = {name: a for name, a in answers.items() if self._reach[name] is not Reach.CYCLE}
        state.skipped_filters = self._pre_filtered.skipped
        return self._pre_filtered

    def drop(self) -> None:
        """Everything may have changed."""
        self.columns.clear()

    def complete(self, state: CycleState, pod: PodInfo) -> bool:
        """Ask the plugins that keep their answers and have none yet. True if `fits` was made anew."""
        skipped, columns = state.skipped_filters, self.columns
        anew = len(self.fits) != self._cluster.nodes.capacity
        for plugin in self._lineup.filters:
            name, reach = plugin.name, self._reach[plugin.name]
            if name in skipped or reach is Reach.CYCLE:
                anew |= columns.pop(name, None) is not None
            elif name not in columns:
                column = columns[name] = FilterColumn(plugin, reach, self._cluster.nodes.capacity)
                self.ask(column, state, pod, self._cluster.view())
                anew = True
        if anew:
            self._make_fits()
        return anew

    def ask(self, column: FilterColumn, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        """Ask one plugin about some rows, or about all."""
        self.rows_asked += len(nodes)
        verdict = ask_filter(column.plugin, state, pod, nodes)
        if not column.merge(nodes.rows, verdict):
            del self.columns[column.plugin.name]  # too many different reasons: `complete` asks about all rows

    def rows_changed(self, rows: list[int]) -> None:
        """The columns are up to date at these rows: take that over into `fits`."""
        exists, fits = self._cluster.nodes.exists, self.fits
        columns = list(self.columns.values())
        for row in rows:
            fitting = bool(exists[row]) and not any(column.bits[row] for column in columns)
            if fits[row] != fitting:
                fits[row] = fitting
                self.feasible += 1 if fitting else -1

    def cycle_filters(self, state: CycleState) -> list[FilterPlugin]:
        """The plugins that must be asked in every cycle."""
        return [
            plugin
            for plugin in self._lineup.filters
            if self._reach[plugin.name] is Reach.CYCLE and plugin.name not in state.skipped_filters
        ]

    def in_order(self, state: CycleState) -> list[FilterColumn]:
        """A column per plugin that filters, in the order of the profile; without answers where none are kept."""
        return [
            self.columns.get(plugin.name) or FilterColumn(plugin, Reach.CYCLE, 0)
            for plugin in self._lineup.filters
            if plugin.name not in state.skipped_filters
        ]

    def _pre_filters_last(self) -> bool:
        return all(self._reach[plugin.name] is not Reach.CYCLE for plugin in self._lineup.pre_filters)

    def _basis_changed(self, plugin: Plugin) -> bool:
        basis = plugin.basis(self._template)
        if basis == self._bases.get(plugin.name, _UNSEEN):
            return False
        self._bases[plugin.name] = basis
        self._reach[plugin.name] = plugin.reach_of(self._template)
        return True

    def _make_fits(self) -> None:
        self.fits = self._cluster.nodes.exists.copy()
        for column in self.columns.values():
            self.fits &= column.bits == 0
        self.feasible = int(np.count_nonzero(self.fits))
