"""The filters' answers for one pod template, kept while they stay true."""

from __future__ import annotations

import numpy as np

from kubesched.columns import Booleans, Cluster, PodInfo, PodTemplate
from kubesched.engine.filter_column import FilterColumn
from kubesched.engine.lineup import Lineup, ask_filter
from kubesched.engine.pre_filtering import PreFilterAnswer, PreFiltered, run_pre_filters
from kubesched.engine.tracker import Changes, ChangeTracker, RowArray
from kubesched.framework import CycleState, FilterPlugin, Plugin, Reach

_UNSEEN = object()


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
        self._all_lasting = all(self._reach[p.name] is not Reach.CYCLE for p in lineup.pre_filters)
        self._answers: dict[str, PreFilterAnswer] = {}
        self._columns: dict[str, FilterColumn] = {}
        self._stale: set[str] = set()
        self._tracker = ChangeTracker(cluster.nodes)
        self._lasting_state = CycleState(PodInfo(template.exemplar, template))
        self._pre_filtered: PreFiltered | None = None
        self.fits: Booleans = np.zeros(0, dtype=np.bool_)
        """Per row: it has a node, and no kept filter rejects the pod there."""
        self.feasible = 0
        self.version = 0
        """Changes whenever `fits` may have changed on other rows than those that the table's journals name."""
        self.rows_asked = 0

    def reach(self, plugin: Plugin) -> Reach:
        return self._reach[plugin.name]

    def start(self, pod: PodInfo) -> tuple[CycleState, frozenset[str]]:
        """A cycle state for a pod, and the plugins whose basis has changed since the last time."""
        stale = [p.name for p in self._based if self._basis_changed(p)]
        if stale:
            self._stale.update(stale)
            for name in stale:
                self._answers.pop(name, None)
            self._pre_filtered = None
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

    def refresh(self, state: CycleState, pod: PodInfo) -> None:
        """Bring `fits` up to date; only after a PreFilter that did not reject the pod."""
        changes = self._tracker.changes()
        if changes.everything:
            self._columns.clear()
        skipped = state.skipped_filters
        was_kept = len(self._columns)
        recompute = changes.everything
        kept = 0
        for plugin in self._lineup.filters:
            name = plugin.name
            reach = self._reach[name]
            if reach is Reach.CYCLE:
                continue
            if name in skipped:
                recompute |= self._columns.pop(name, None) is not None
                continue
            kept += 1
            column = self._columns.get(name)
            if column is None or name in self._stale:
                column = self._columns[name] = FilterColumn(plugin, reach, self._cluster.nodes.capacity)
                self._ask(column, state, pod, None)
                recompute = True
            elif len(rows := changes.rows if reach is Reach.ROW else changes.nodes) and not self._ask(
                column, state, pod, rows
            ):
                self._ask(column, state, pod, None)
                recompute = True
        self._stale.clear()
        if recompute or kept != was_kept:
            self._recompute()
        elif len(changes.rows):
            self._update(changes)

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
            self._columns.get(plugin.name) or FilterColumn(plugin, Reach.CYCLE, 0)
            for plugin in self._lineup.filters
            if plugin.name not in state.skipped_filters
        ]

    def _basis_changed(self, plugin: Plugin) -> bool:
        if self._reach[plugin.name] is Reach.CYCLE:
            return False
        basis = plugin.basis(self._template)
        if basis == self._bases.get(plugin.name, _UNSEEN):
            return False
        self._bases[plugin.name] = basis
        return True

    def _ask(self, column: FilterColumn, state: CycleState, pod: PodInfo, rows: RowArray | None) -> bool:
        nodes = self._cluster.view(rows)
        self.rows_asked += len(nodes)
        return column.merge(nodes.rows, ask_filter(column.plugin, state, pod, nodes))

    def _recompute(self) -> None:
        table = self._cluster.nodes
        self.fits = table.exists.copy()
        for column in self._columns.values():
            self.fits &= column.bits == 0
        self.feasible = int(np.count_nonzero(self.fits))
        self.version += 1

    def _update(self, changes: Changes) -> None:
        rows = changes.rows
        before = self.fits[rows]
        after = self._cluster.nodes.exists[rows]
        for column in self._columns.values():
            after &= column.bits[rows] == 0
        if not np.array_equal(before, after):
            self.fits[rows] = after
            self.feasible += int(np.count_nonzero(after)) - int(np.count_nonzero(before))
