"""The filters' answers for one pod template, kept while they stay true."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.columns import Booleans, Cluster, NodeView, PodInfo, PodTemplate
from kubesched.engine.filter_column import FilterColumn
from kubesched.engine.inherited import Inherit
from kubesched.engine.lineup import Lineup, ask_filter
from kubesched.engine.pre_filtering import PreFilterAnswer, PreFiltered, run_pre_filters
from kubesched.engine.tracker import as_rows
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
        self._based = [(p, p.basis) for p in plugins.values() if type(p).basis is not Plugin.basis]
        self._bases: dict[str, object] = {}
        self._answers: dict[str, PreFilterAnswer] = {}
        self._pre_filtered: PreFiltered | None = None
        self._all_lasting = self._pre_filters_last()
        self._lasting_state = CycleState(PodInfo(template.exemplar, template))
        self.columns: dict[str, FilterColumn] = {}
        """Kept answers by plugin; `Kept` brings them up to date where rows have changed."""
        self.fits: Booleans = np.zeros(0, dtype=np.bool_)
        """Per row: it has a node, and no kept filter rejects the pod there."""
        self._fits_but_for_sums = self.fits
        self._fits_are_old = True  # a column that counts in them is gone
        self._completed: PreFiltered | None = None
        self._cycle_filters: list[FilterPlugin] = []
        self.by_sums: list[FilterColumn] = []
        self.has_row_columns = False
        self.feasible = 0
        self.rows_asked = 0

    def start(self, pod: PodInfo) -> tuple[CycleState, frozenset[str]]:
        """A cycle state for a pod, and the plugins whose basis has changed since the last time."""
        stale: list[str] = []
        template, bases = self._template, self._bases
        for plugin, basis_of in self._based:
            basis = basis_of(template)
            if basis != bases.get(plugin.name, _UNSEEN):
                bases[plugin.name] = basis
                self._reach[plugin.name] = plugin.reach_of(template)
                stale.append(plugin.name)
        if not stale:
            return CycleState(pod, self._lasting_state), _NONE_STALE
        self._completed = None
        for name in stale:
            self._answers.pop(name, None)
            self._forget(name)
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
        self._fits_are_old = True
        self._completed = None

    def has_basis_of(self, other: KeptFilters, name: str) -> bool:
        """Whether a plugin's answers rest on the same basis here and there."""
        return self._bases.get(name) == other._bases.get(name) and self._reach[name] is other._reach[name]

    def complete(self, state: CycleState, pod: PodInfo, inherit: Inherit[FilterColumn]) -> bool:
        """Get answers of the plugins that keep them and have none yet. True if `fits` was made anew."""
        if self._completed is self._pre_filtered and self._completed is not None:
            return False
        skipped, columns = state.skipped_filters, self.columns
        for plugin in self._lineup.filters:
            name, reach = plugin.name, self._reach[plugin.name]
            if name in skipped or reach is Reach.CYCLE:
                self._forget(name)
            elif name not in columns:
                self._fits_are_old = True
                inherited = inherit(name)
                if inherited is not None:
                    columns[name] = inherited.column
                    if inherited.rows:
                        self.ask(inherited.column, state, pod, self._cluster.view(as_rows(inherited.rows)))
                if name not in columns:
                    columns[name] = FilterColumn(plugin, reach, self._cluster.nodes.capacity)
                    self._ask_all(columns[name], state, pod)
        self._cycle_filters = [
            plugin
            for plugin in self._lineup.filters
            if self._reach[plugin.name] is Reach.CYCLE and plugin.name not in skipped
        ]
        self._completed = self._pre_filtered
        if not self._fits_are_old:
            return False
        self._make_fits()
        return True

    def ask(self, column: FilterColumn, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        """Ask one plugin about some rows."""
        self.rows_asked += len(nodes)
        verdict = ask_filter(column.plugin, state, pod, nodes)
        if not column.merge(nodes.rows, verdict):
            # Too many different reasons: `complete` asks about all rows.
            self._forget(column.plugin.name)
            self._completed = None

    def _ask_all(self, column: FilterColumn, state: CycleState, pod: PodInfo) -> None:
        """Ask about every row; where nodes that are alike get the same answer, about one of each kind."""
        table = self._cluster.nodes
        alike = table.sums.alike(len(table)) if column.reach is Reach.SUMS else None
        nodes = self._cluster.view(None if alike is None else alike.rows)
        self.rows_asked += len(nodes)
        verdict = ask_filter(column.plugin, state, pod, nodes)
        if alike is not None:
            verdict = verdict.at(alike.kind)
        if not column.merge(slice(0, len(table)), verdict):
            # A plugin with so many things to say is asked in every cycle.
            self._forget(column.plugin.name)
            self._reach[column.plugin.name] = Reach.CYCLE
            self._all_lasting = self._pre_filters_last()

    def rows_changed(self, rows: list[int]) -> None:
        """The columns are up to date at these rows: take that over into `fits`."""
        exists = self._cluster.nodes.exists
        others = [column for column in self.columns.values() if column.reach is not Reach.SUMS]
        for row in rows:
            self._fits_but_for_sums[row] = exists[row] and not any(column.bits[row] for column in others)
            self.settle(row, not any(column.bits[row] for column in self.by_sums))

    def settle(self, row: int, fits_by_sums: bool) -> bool:
        """Whether a row fits, given the answer of the plugins that see sums only."""
        fitting = fits_by_sums and bool(self._fits_but_for_sums[row])
        if self.fits[row] != fitting:
            self.fits[row] = fitting
            self.feasible += 1 if fitting else -1
        return fitting

    def cycle_filters(self) -> list[FilterPlugin]:
        """The plugins that must be asked in every cycle."""
        return self._cycle_filters

    def in_order(self, state: CycleState) -> list[FilterColumn]:
        """A column per plugin that filters, in the order of the profile; without answers where none are kept."""
        return [
            self.columns.get(plugin.name) or FilterColumn(plugin, Reach.CYCLE, 0)
            for plugin in self._lineup.filters
            if plugin.name not in state.skipped_filters
        ]

    def _pre_filters_last(self) -> bool:
        return all(self._reach[plugin.name] is not Reach.CYCLE for plugin in self._lineup.pre_filters)

    def _forget(self, name: str) -> None:
        if self.columns.pop(name, None) is not None:
            self._fits_are_old = True

    def _make_fits(self) -> None:
        self.by_sums = [column for column in self.columns.values() if column.reach is Reach.SUMS]
        self.has_row_columns = any(column.reach is Reach.ROW for column in self.columns.values())
        self._fits_but_for_sums = self._cluster.nodes.exists.copy()
        for column in self.columns.values():
            if column.reach is not Reach.SUMS:
                self._fits_but_for_sums &= column.bits == 0
        self.fits = self._fits_but_for_sums.copy()
        for column in self.by_sums:
            self.fits &= column.bits == 0
        self.feasible = int(np.count_nonzero(self.fits))
        self._fits_are_old = False
