"""All that is kept about one pod template, and the bringing up to date of it."""

from __future__ import annotations

from kubesched.columns import Cluster, Integers, PodInfo, PodTemplate
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
        self._memo_columns: tuple[int, ...] = ()
        self.filters = KeptFilters(template, lineup, cluster)
        self.scores = KeptScores(template, lineup, cluster)

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
        elif changes.nodes or changes.pods:
            self._ask_again(state, pod, changes.nodes, changes.pods)
        if filters.complete(state, pod):
            scores.drop_totals()
        elif changes.nodes or changes.pods:
            rows = changes.nodes + changes.pods
            filters.rows_changed(rows)
            scores.rows_changed(rows, filters.fits)

    def _ask_again(self, state: CycleState, pod: PodInfo, nodes: list[int], pods: list[int]) -> None:
        """Rows whose node changed: everybody. Rows whose pods changed: plugins that look at pods, or the memo."""
        sums, others = self._by_sums(), nodes
        if pods and sums:
            memo = self._memo_for(sums)
            unknown = memo.fill(pods)
            if unknown:
                self._ask(state, pod, unknown, (Reach.SUMS,))
                memo.learn(unknown)
        if pods:
            self._ask(state, pod, pods, (Reach.ROW,))
        if others:
            self._ask(state, pod, others, (Reach.NODE, Reach.SUMS, Reach.ROW))

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

    def _by_sums(self) -> list[Integers]:
        arrays = [column.bits for column in self.filters.columns.values() if column.reach is Reach.SUMS]
        return arrays + [column.raw for column in self.scores.columns.values() if column.reach is Reach.SUMS]

    def _memo_for(self, arrays: list[Integers]) -> RowMemo:
        identities = tuple(map(id, arrays))
        if self._memo is None or identities != self._memo_columns:
            self._memo, self._memo_columns = RowMemo(self._cluster.nodes, arrays), identities
        return self._memo
