"""The filters' answers for one pod template, kept while they stay true."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.columns import Booleans, Cluster, NodeView, PodInfo, PodTemplate
from kubesched.engine.filter_column import FilterColumn
from kubesched.engine.inherited import Inherit
from kubesched.engine.lineup import Lineup, ask_filter, ask_pre_filter
from kubesched.engine.pre_filtering import PreFilterAnswer, PreFiltered, run_pre_filters
from kubesched.engine.tracker import as_rows
from kubesched.framework import CycleState, FilterPlugin, Plugin, PreFilterPlugin, Reach, Verdict

_NONE_STALE: Final[frozenset[str]] = frozenset()
_MOST_ROWS_ONE_BY_ONE: Final = 32
"""Beyond this, it is faster to add up the answers of all rows anew."""


class KeptFilters:
    """PreFilter and Filter of one template over all rows.

    Plugins whose reach for this template is CYCLE are not kept: `cycle_filters` are left to the caller, which asks
    them about the rows that `fits` leaves.
    """

    def __init__(self, template: PodTemplate, lineup: Lineup, cluster: Cluster) -> None:
        self._template = template
        self._lineup = lineup
        self._cluster = cluster
        self._reach = lineup.reaches(template)
        self._bases: dict[str, object] = {plugin.name: plugin.basis(template) for plugin in lineup.with_basis}
        self._answers: dict[str, PreFilterAnswer] = {}
        self._pre_filtered: PreFiltered | None = None
        self._unsure: dict[str, PreFilterPlugin] = {}  # PreFilter may answer otherwise by now
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
        self._stale: list[FilterColumn] = []
        self.columns_version = 0
        self.has_row_columns = False
        self.feasible = 0
        self.rows_asked = 0

    def start(self, pod: PodInfo) -> tuple[CycleState, frozenset[str]]:
        """A cycle state for a pod, and the plugins whose basis has changed since the last time."""
        stale: list[Plugin] = []
        template, bases = self._template, self._bases
        for plugin in self._lineup.with_basis:
            basis = plugin.basis(template)
            if basis != bases[plugin.name]:
                bases[plugin.name] = basis
                stale.append(plugin)
        if not stale:
            return CycleState(pod, self._lasting_state), _NONE_STALE
        for plugin in stale:
            self._basis_changed(plugin)
        self._all_lasting = self._pre_filters_last()
        return CycleState(pod, self._lasting_state), frozenset([plugin.name for plugin in stale])

    def _basis_changed(self, plugin: Plugin) -> None:
        name, reach = plugin.name, plugin.reach_of(self._template)
        if name in self._answers and isinstance(plugin, PreFilterPlugin):
            self._unsure[name] = plugin
        column = self.columns.get(name)
        if column is None or reach is not column.reach or reach is Reach.SUMS:
            self._forget(name)  # with SUMS, more than the column would be stale: all that is remembered by sums
            self._completed = None
        else:
            column.is_stale = True
            self._stale.append(column)
        self._reach[name] = reach

    def pre_filter(self, state: CycleState, pod: PodInfo) -> PreFiltered:
        if not self._answers_as_before(pod) or self._pre_filtered is None or not self._all_lasting:
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

    def _answers_as_before(self, pod: PodInfo) -> bool:
        """Ask those plugins again whose PreFilter may say something else by now; whether none of them does."""
        if not self._unsure:
            return True
        nodes = self._cluster.view()
        answers = {
            name: ask_pre_filter(plugin, self._lasting_state, pod, nodes)
            for name, plugin in self._unsure.items()
            if self._reach[name] is not Reach.CYCLE
        }
        before = {name: self._answers.pop(name) for name in self._unsure}
        self._answers |= answers
        self._unsure.clear()
        return answers == before

    def drop(self) -> None:
        """Everything may have changed."""
        self.columns.clear()
        self._stale.clear()
        self.columns_version += 1
        self._fits_are_old = True
        self._completed = None

    def has_basis_of(self, other: KeptFilters, name: str) -> bool:
        """Whether a plugin's answers rest on the same basis here and there."""
        return self._bases.get(name) == other._bases.get(name) and self._reach[name] is other._reach[name]

    def complete(self, state: CycleState, pod: PodInfo, inherit: Inherit[FilterColumn]) -> list[int] | None:
        """Get the answers that plugins keep and that are not there yet, or stale.

        Returns the rows whose answers have become others; None if `fits` was made anew for all rows.
        """
        if self._completed is None or self._completed is not self._pre_filtered:
            self._fill_gaps(state, pod, inherit)
        changed: list[int] = []
        for column in self._stale:
            changed += self._ask_again(column, state, pod)
        self._stale.clear()
        if not self._fits_are_old and len(changed) <= _MOST_ROWS_ONE_BY_ONE:
            return changed
        self._make_fits()
        return None

    def _fill_gaps(self, state: CycleState, pod: PodInfo, inherit: Inherit[FilterColumn]) -> None:
        """Have a column for every plugin that keeps its answers and has something to say, and for no other."""
        skipped, columns = state.skipped_filters, self.columns
        for plugin in self._lineup.filters:
            name, reach = plugin.name, self._reach[plugin.name]
            if name in skipped or reach is Reach.CYCLE:
                self._forget(name)
            elif name not in columns:
                self._fits_are_old = True
                self.columns_version += 1
                inherited = inherit(name)
                if inherited is not None:
                    columns[name] = inherited.column
                    if inherited.rows:
                        self.ask(inherited.column, state, pod, self._cluster.view(as_rows(inherited.rows)))
                if name not in columns:
                    column = columns[name] = FilterColumn(plugin, reach, self._cluster.nodes.capacity)
                    self._take_over(column, self._ask_all(column, state, pod))
        self._cycle_filters = [
            plugin
            for plugin in self._lineup.filters
            if self._reach[plugin.name] is Reach.CYCLE and plugin.name not in skipped
        ]
        self._completed = self._pre_filtered

    def ask(self, column: FilterColumn, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        """Ask one plugin about some rows."""
        self.rows_asked += len(nodes)
        verdict = ask_filter(column.plugin, state, pod, nodes)
        if not column.merge(nodes.rows, verdict):
            # Too many different reasons: `complete` asks about all rows.
            self._forget(column.plugin.name)
            self._completed = None

    def _ask_again(self, column: FilterColumn, state: CycleState, pod: PodInfo) -> list[int]:
        """Bring a stale column up to date, if it is still of use; the rows whose answers are others now."""
        if self.columns.get(column.plugin.name) is not column:
            return []
        verdict = self._ask_all(column, state, pod)
        changed = column.renew(verdict)
        if changed is None:
            self._fits_are_old = True
            self._take_over(column, verdict)
        return [] if changed is None else changed.tolist()

    def _ask_all(self, column: FilterColumn, state: CycleState, pod: PodInfo) -> Verdict:
        """Ask about every row; where nodes that are alike get the same answer, about one of each kind."""
        table = self._cluster.nodes
        alike = table.sums.alike(len(table)) if column.reach is Reach.SUMS else None
        nodes = self._cluster.view(None if alike is None else alike.rows)
        self.rows_asked += len(nodes)
        verdict = ask_filter(column.plugin, state, pod, nodes)
        return verdict if alike is None else verdict.at(alike.kind)

    def _take_over(self, column: FilterColumn, verdict: Verdict) -> None:
        """Put the answers for all rows into a column."""
        column.is_stale = False
        if not column.merge(slice(0, len(self._cluster.nodes)), verdict):
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
        fitting: bool = fits_by_sums and self._fits_but_for_sums.item(row)
        if self.fits.item(row) != fitting:
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
            self.columns_version += 1

    def _make_fits(self) -> None:
        self.by_sums = [column for column in self.columns.values() if column.reach is Reach.SUMS]
        self.has_row_columns = any(column.reach is Reach.ROW for column in self.columns.values())
        self._fits_but_for_sums = self._cluster.nodes.exists.copy()
        rejecting = [column for column in self.columns.values() if column.may_reject]
        for column in rejecting:
            if column.reach is not Reach.SUMS:
                self._fits_but_for_sums &= column.bits == 0
        self.fits = self._fits_but_for_sums.copy()
        for column in rejecting:
            if column.reach is Reach.SUMS:
                self.fits &= column.bits == 0
        self.feasible = int(np.count_nonzero(self.fits))
        self._fits_are_old = False
