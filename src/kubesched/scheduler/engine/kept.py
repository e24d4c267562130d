"""All that is kept for pod templates that no plugin can tell apart, and the bringing up to date of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

import numpy as np

from kubesched.scheduler.columns import EVERYTHING, Booleans, ClusterTables, Follower, PodInfo
from kubesched.scheduler.engine.asked import Asked
from kubesched.scheduler.engine.family import Family
from kubesched.scheduler.engine.filter_column import FilterColumn
from kubesched.scheduler.engine.filter_columns import FilterColumns
from kubesched.scheduler.engine.lineup import Lineup
from kubesched.scheduler.engine.pre_filtering import PassedPreFilters, PreFilterAnswers, PreFiltered, run_pre_filters
from kubesched.scheduler.engine.row_memo import RowMemo
from kubesched.scheduler.engine.standing import Standing
from kubesched.scheduler.engine.sum_scores import SumScores
from kubesched.scheduler.engine.totals import Ranked, Scores, Totals
from kubesched.scheduler.engine.tracker import ChangeTracker, RowArray, as_rows
from kubesched.scheduler.engine.uniform import every_row
from kubesched.scheduler.framework import CycleState, DependsOn, FilterPlugin, PreFilterPlugin, Stopwatch

_SUMS: Final = (DependsOn.NODE_RESOURCES,)
_MOST_ROWS_ONE_BY_ONE: Final = 6
"""Beyond this, it is faster to look at all of them together."""
_MOST_ROWS_FILED: Final = 128
"""Beyond this, it is faster to add up the totals of all rows anew."""
_WORTH_KEEPING: Final = 8
"""If one row in so many has changed, the others are not worth more than a beginning anew."""


class Kept:
    """The family's answers, and on top of them those of plugins that see nothing but the sums of nodes' resources.

    After `refresh` they equal what the plugins would answer if all of them were asked about every row.
    """

    def __init__(
        self, pod: PodInfo, standing: Standing, family: Family, lineup: Lineup, cluster: ClusterTables, asked: Asked
    ) -> None:
        self.family = family
        self._lineup = lineup
        self._cluster = cluster
        self._bases = standing.bases
        self._lasting = CycleState(pod, family.lasting)
        by_sums = family.by_sums
        self._pre_filters = PreFilterAnswers(by_sums.pre_filters)
        self._pre_filtered: PreFiltered | None = None
        self._pre_filtered_with = -1
        self._tracker = ChangeTracker(cluster.nodes)
        self._family_changes = Follower(family.changes)
        self._family_version = -1
        self._filters = FilterColumns(by_sums.filters, cluster, asked)
        self._scores = SumScores(by_sums.scores, by_sums.pre_scores, cluster, asked)
        self._memo: RowMemo | None = None
        self._memo_made_for = -1
        self._totals = Totals(family, self._scores, lineup, cluster, asked)
        self.starts = 0
        """How many pods have come so far."""
        self.fits: Booleans = np.zeros(0, dtype=np.bool_)
        """Per row: it has a node, and no kept filter rejects the pod there."""
        self.feasible = 0
        self._rows: RowArray | None = None  # the feasible ones, if somebody asked

    def start(self, pod: PodInfo, bases: list[Hashable], stopwatch: Stopwatch | None) -> CycleState:
        """A state for a pod's cycle; what depends on a changed external version is dropped."""
        self.starts += 1
        self.family.start(bases)
        if bases is not self._bases:
            before, self._bases = self._bases, bases
            stale = [name for name, number in self.family.by_sums.with_basis if before[number] != bases[number]]
            if stale:
                self._pre_filters.doubt(stale)
                self._drop_sums()
        self._lasting.stopwatch = self.family.lasting.stopwatch = stopwatch
        return CycleState(pod, self._lasting, stopwatch=stopwatch)

    def drop(self) -> None:
        """Forget every answer, the family's included."""
        self.family.drop()
        self._drop_sums()

    def _drop_sums(self) -> None:
        self._filters.drop()
        self._scores.drop()
        self._totals.drop()
        self._memo = None

    # ---- PreFilter, Filter ---------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo) -> PreFiltered:
        family, own = self.family.pre_filters, self._pre_filters
        if family.unsure:
            family.settle(self.family.lasting, pod, self._cluster)
        if own.unsure:
            own.settle(self._lasting, pod, self._cluster)
        made_with = family.version + own.version  # both only grow
        pre_filtered = self._pre_filtered
        if pre_filtered is None or made_with != self._pre_filtered_with or not self.family.pre_filters_last:
            pre_filtered = self._pre_filtered_like_others(pod) or self._run_pre_filters(state, pod)
            self._pre_filtered, self._pre_filtered_with = pre_filtered, made_with
        state.skipped_filters = pre_filtered.skipped
        return pre_filtered

    def _pre_filtered_like_others(self, pod: PodInfo) -> PreFiltered | None:
        """What came of it for another template of the family, if the plugins that see sums say the same now."""
        family, own = self.family, self._pre_filters
        passed = family.passed_pre_filters
        if passed is None or passed.version != family.pre_filters.version:
            return None
        own.complete(self._lasting, pod, self._cluster)
        return passed.pre_filtered if own.by_plugin == passed.by_sums else None

    def _run_pre_filters(self, state: CycleState, pod: PodInfo) -> PreFiltered:
        family, own = self.family.pre_filters, self._pre_filters
        known = family.by_plugin | own.by_plugin
        pre_filtered, answers = run_pre_filters(
            self._lineup, lambda plugin: self._state_of(plugin, state), pod, self._cluster.view(), known
        )
        family.take_over(answers)
        own.take_over(answers)
        if self.family.pre_filters_last and pre_filtered.status.is_success:
            self.family.passed_pre_filters = PassedPreFilters(pre_filtered, own.by_plugin, family.version)
        return pre_filtered

    def _state_of(self, plugin: PreFilterPlugin, state: CycleState) -> CycleState:
        """Where a plugin's PreFilter may write."""
        depends_on = self.family.reaches[plugin.name].depends_on
        if depends_on is DependsOn.ANYTHING:
            return state
        return self._lasting if depends_on is DependsOn.NODE_RESOURCES else self.family.lasting

    def refresh(self, state: CycleState, pod: PodInfo) -> None:
        """Ask again where something has changed; only after a PreFilter that did not reject the pod."""
        family = self.family
        family.refresh(state, pod)
        self._totals.follow_family()
        rows = self._family_changes.changed()
        few = self._tracker.few_pods(_MOST_ROWS_ONE_BY_ONE)
        if few is None:
            self._refresh_many(state, pod)
        elif few:
            self._refresh_rows(state, pod, few)
        is_new = not self._filters.are_complete(state) and self._filters.complete(state, pod) is None
        if is_new or rows is EVERYTHING or self._family_version != family.version:
            self._family_version = family.version
            self.fits = family.fits.copy()
            self._filters.narrow(self.fits)
            self.feasible = int(np.count_nonzero(self.fits))
            self._rows = None
            self._totals.forget()
        elif rows:
            self._settle(rows)

    def _refresh_many(self, state: CycleState, pod: PodInfo) -> None:
        changes = self._tracker.changes()
        number = len(changes.nodes) + len(changes.pods)
        if changes.everything or number > max(_MOST_ROWS_FILED, len(self._cluster.nodes) // _WORTH_KEEPING):
            self._drop_sums()
        elif number:
            if number > _MOST_ROWS_FILED:
                self._totals.forget()
            self._refresh_rows(state, pod, changes.nodes + changes.pods)

    def _refresh_rows(self, state: CycleState, pod: PodInfo, rows: list[int]) -> None:
        """The sums of these rows have changed: recall what was said of such sums, or ask."""
        filters, scores = self._filters, self._scores
        made_for = filters.version + scores.version  # both only grow
        if self._memo is None or self._memo_made_for != made_for:
            self._memo = RowMemo(self._cluster.nodes, filters.by_plugin, scores.by_plugin)
            self._memo_made_for = made_for
        memo = self._memo
        if len(rows) > _MOST_ROWS_ONE_BY_ONE:
            if unknown := memo.recall_all(rows):
                self._ask(state, pod, rows)  # about all of them: that takes no longer
                memo.learn(unknown)
            self._settle_all(rows)
            return
        unknown = []
        for row in rows:
            answer = memo.recall(row)
            if answer is None:
                unknown.append(row)
            else:
                self._set(row, answer.fits, answer.points)
        if unknown:
            self._ask(state, pod, unknown)
            memo.learn(unknown)
            self._settle(unknown)

    def _ask(self, state: CycleState, pod: PodInfo, rows: list[int]) -> None:
        nodes = self._cluster.view(as_rows(rows))
        self._filters.ask(state, pod, nodes, _SUMS)
        self._scores.ask(state, pod, nodes)

    def _settle(self, rows: Iterable[int]) -> None:
        """The columns are up to date at these rows: take that over."""
        for row in rows:
            fits = not self._filters.reject(row)
            points = self._scores.points_at(row, fits and self.family.fits.item(row))
            self._set(row, fits, points)

    def _settle_all(self, rows: list[int]) -> None:
        """As `_settle`, for many rows at once."""
        at = as_rows(rows)
        fits: Booleans = self.family.fits[at]
        self._filters.narrow_at(at, fits)
        is_new = fits != self.fits[at]
        if changed := int(np.count_nonzero(is_new)):
            self.fits[at] = fits
            self.feasible += 2 * int(np.count_nonzero(fits[is_new])) - changed
            self._rows = None
        self._totals.set_all(at, self._scores.points_at_all(at, fits), fits, is_new)

    def _set(self, row: int, fits_by_sums: bool, points: int) -> None:
        fits: bool = fits_by_sums and self.family.fits.item(row)
        if self.fits.item(row) is not fits:
            self.fits[row] = fits
            self.feasible += 1 if fits else -1
            self._rows = None
        self._totals.set(row, points, fits)

    def rows(self) -> RowArray:
        """The feasible rows. Don't write to them."""
        if self._rows is None:
            rows = len(self._cluster.nodes)
            self._rows = every_row(rows) if self.feasible == rows else self.fits.nonzero()[0]
        return self._rows

    def cycle_filters(self, state: CycleState) -> list[FilterPlugin]:
        """The plugins that must be asked in every cycle, in the order of the profile."""
        if not (self.family.asked_in_every_cycle or self.family.filters.unkept or self._filters.unkept):
            return []
        return [plugin for plugin, column in self.in_order(state) if column is None]

    def in_order(
        self, state: CycleState, *, with_columns: bool = True
    ) -> list[tuple[FilterPlugin, FilterColumn | None]]:
        """The plugins that filter, in the order of the profile, with their answers where such are kept."""
        columns = self.family.filters.by_plugin | self._filters.by_plugin if with_columns else {}
        return [
            (plugin, columns.get(plugin.name))
            for plugin in self._lineup.filters
            if plugin.name not in state.skipped_filters
        ]

    # ---- PreScore, Score -----------------------------------------------------------------------------------------

    def ranked(self, state: CycleState, pod: PodInfo, rows: RowArray | None) -> Ranked:
        """The totals of some feasible rows, or (None) of all of them; only after `refresh`."""
        if rows is None and (totals := self._totals.kept(state, pod)) is not None:
            return totals
        is_whole = rows is None
        return self._totals.ranked(
            state, self._lasting, pod, self.fits, self.rows() if rows is None else rows, is_whole=is_whole
        )

    def scored(self, state: CycleState, pod: PodInfo, rows: RowArray) -> Scores:
        """Every plugin's scores of some feasible rows; only after `refresh`."""
        return self._totals.scores(state, self._lasting, pod, rows)
