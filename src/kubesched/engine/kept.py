"""All that is kept about one pod template, and the bringing up to date of it."""

from __future__ import annotations

from kubesched.columns import Cluster, PodInfo, PodTemplate
from kubesched.engine.kept_filters import KeptFilters
from kubesched.engine.kept_scores import KeptScores
from kubesched.engine.lineup import Lineup
from kubesched.engine.row_memo import RowMemo, as_rows
from kubesched.engine.tracker import ChangeTracker
from kubesched.framework import CycleState, Reach


class Kept:
    """The answers of filters and scores for one template, with the rows on which they may have become wrong.

    After `refresh` they equal what the plugins would answer if all of them were asked about every row.
    """

    def __init__(self, template: PodTemplate, lineup: Lineup, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tracker = ChangeTracker(cluster.nodes)
        self._memo: RowMemo | None = None
        self._memo_version = -1
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

    def refresh(self, state: CycleState, pod: PodInfo) -> None:
        """Ask again where something has changed; only after a PreFilter that did not reject the pod."""
        changes = self._tracker.changes()
        filters, scores = self.filters, self.scores
        if changes.everything:
            filters.drop()
            scores.drop()
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
        if filters.complete(state, pod):
            scores.drop_totals()
            self._memo = None
        elif rows:
            filters.rows_changed(rows)
            scores.rows_changed(rows, filters.fits)

    def _without_remembered(self, rows: list[int]) -> list[int]:
        """Settle the rows whose answers are remembered; returns the others."""
        if not rows:
            return rows
        filters, scores = self.filters, self.scores
        if self._memo is None or self._memo_version != scores.columns_version:
            self._memo = RowMemo(self._cluster.nodes, filters.by_sums, scores.by_sums)
            self._memo_version = scores.columns_version
        if filters.has_row_columns or scores.has_row_columns:
            return rows
        unknown: list[int] = []
        for row in rows:
            answer = self._memo.recall(row)
            if answer is None:
                unknown.append(row)
            else:
                scores.settle(row, answer.points if filters.settle(row, answer.fits) else None)
        return unknown

    def _ask(self, state: CycleState, pod: PodInfo, rows: list[int], reaches: tuple[Reach, ...]) -> None:
        view = None
        for filter_column in list(self.filters.columns.values()):
            if filter_column.reach in reaches:
                view = view or self._cluster.view(as_rows(rows))
                self.filters.ask(filter_column, state, pod, view)
        for column in self.scores.columns.values():
            if column.reach in reaches:
                view = view or self._cluster.view(as_rows(rows))
                column.merge(view, self.scores.ask(column.plugin, state, pod, view))
