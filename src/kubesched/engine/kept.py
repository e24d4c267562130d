"""All that is kept about one pod template, and the bringing up to date of it."""

from __future__ import annotations

from typing import TypeVar

from kubesched.columns import Cluster, PodInfo, PodTemplate
from kubesched.engine.filter_column import FilterColumn
from kubesched.engine.inherited import Inherited
from kubesched.engine.kept_filters import KeptFilters
from kubesched.engine.kept_scores import KeptScores, Ranked, Scores
from kubesched.engine.lineup import Lineup
from kubesched.engine.relatives import Relatives
from kubesched.engine.row_memo import RowMemo
from kubesched.engine.score_column import ScoreColumn
from kubesched.engine.tracker import ChangeTracker, RowArray, as_rows
from kubesched.framework import CycleState, Reach

C = TypeVar("C", FilterColumn, ScoreColumn)


class Kept:
    """The answers of filters and scores for one template, with the rows on which they may have become wrong.

    After `refresh` they equal what the plugins would answer if all of them were asked about every row.
    """

    def __init__(self, template: PodTemplate, lineup: Lineup, cluster: Cluster, relatives: Relatives) -> None:
        self.template = template
        self._cluster = cluster
        self._relatives = relatives
        self.aspects = lineup.aspects(template)
        self._tracker = ChangeTracker(cluster.nodes)
        self._memo: RowMemo | None = None
        self._memo_versions = (-1, -1)
        self.filters = KeptFilters(template, lineup, cluster)
        self.scores = KeptScores(template, lineup, cluster)

    @property
    def rows_asked(self) -> int:
        """How many answers about single nodes plugins were asked for so far."""
        return self.filters.rows_asked + self.scores.rows_asked

    def start(self, pod: PodInfo) -> CycleState:
        """A state for a pod's cycle; what depends on a changed basis is dropped."""
        state, stale = self.filters.start(pod)
        if stale:
            self.scores.invalidate(stale)
        return state

    def drop(self) -> None:
        """Forget every answer: nobody inherits one, and all plugins are asked about all rows again."""
        self.filters.drop()
        self.scores.drop()

    def refresh(self, state: CycleState, pod: PodInfo) -> None:
        """Ask again where something has changed; only after a PreFilter that did not reject the pod."""
        changes = self._tracker.changes()
        filters, scores = self.filters, self.scores
        if changes.everything:
            self.drop()
            rows: list[int] = []
        else:
            rows = self._without_remembered(changes.pods)
            if rows:
                self._ask(state, pod, rows, (Reach.SUMS, Reach.ROW))
                if self._memo is not None:
                    self._memo.learn(rows)
            if changes.nodes:
                self._ask(state, pod, changes.nodes, (Reach.NODE, Reach.SUMS, Reach.ROW))
                rows = rows + changes.nodes
        changed = filters.complete(state, pod, self._inherited_filter)
        if changed is None:
            scores.fits_made_anew()
            self._relatives.has_filtered(self)
            changed = []
        if rows or changed:
            filters.rows_changed(rows + changed)
            scores.rows_changed(rows + changed, filters.fits)

    def ranked(self, state: CycleState, pod: PodInfo, rows: RowArray | None) -> Ranked:
        """The totals of some feasible rows, or (None) of all of them; only after `refresh`."""
        version = self.scores.columns_version
        ranked = self.scores.ranked(state, pod, self.filters.fits, rows, self._inherited_score)
        if version != self.scores.columns_version:
            self._relatives.has_scored(self)
        return ranked

    def scored(self, state: CycleState, pod: PodInfo, rows: RowArray) -> Scores:
        """Every plugin's scores of some feasible rows; only after `refresh`."""
        return self.scores.scores(state, pod, rows, self._inherited_score)

    def _inherited_filter(self, name: str) -> Inherited[FilterColumn] | None:
        relative = self._relatives.filtered(name, self.aspects.get(name))
        column = relative.filters.columns.get(name) if relative is not None else None
        return None if relative is None or column is None else self._inherited(relative, name, column)

    def _inherited_score(self, name: str) -> Inherited[ScoreColumn] | None:
        relative = self._relatives.scored(name, self.aspects.get(name))
        column = relative.scores.columns.get(name) if relative is not None else None
        return None if relative is None or column is None else self._inherited(relative, name, column)

    def _inherited(self, relative: Kept, name: str, column: C) -> Inherited[C] | None:
        """A copy of a relative's column, with the rows at which it may be wrong by now."""
        if relative is self or not self.filters.has_basis_of(relative.filters, name):
            return None
        changes = relative._tracker.pending()
        if changes.everything or column.is_stale:
            return None
        rows = changes.nodes if column.reach is Reach.NODE else changes.nodes + changes.pods
        return Inherited(column.copy(), rows)

    def _without_remembered(self, rows: list[int]) -> list[int]:
        """Settle the rows whose answers are remembered; returns the others."""
        if not rows:
            return rows
        filters, scores = self.filters, self.scores
        versions = (filters.columns_version, scores.columns_version)
        if self._memo is None or self._memo_versions != versions:
            self._memo = RowMemo(self._cluster.nodes, filters.by_sums, scores.by_sums)
            self._memo_versions = versions
        if filters.has_row_columns or scores.has_row_columns:
            return rows
        unknown: list[int] = []
        for row in rows:
            answer = self._memo.recall(row)
            if answer is None:
                unknown.append(row)
            else:
                scores.settle(row, answer.points, fits=filters.settle(row, answer.fits))
        return unknown

    def _ask(self, state: CycleState, pod: PodInfo, rows: list[int], reaches: tuple[Reach, ...]) -> None:
        view = None
        for filter_column in list(self.filters.columns.values()):
            if filter_column.reach in reaches and not filter_column.is_stale:
                view = view or self._cluster.view(as_rows(rows))
                self.filters.ask(filter_column, state, pod, view)
        for column in self.scores.columns.values():
            if column.reach in reaches and not column.is_stale:
                view = view or self._cluster.view(as_rows(rows))
                column.merge(view, self.scores.ask(column.plugin, state, pod, view))
