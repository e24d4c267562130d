"""Kept answers of some plugins: what `scratch` would find, remembered, and renewed where an input has changed.

    inputs                                              answers (one column per plugin)
    the node table's journals: changed rows      ──►    filters   FilterColumn: which rows reject the pod, and why
    the plugins' external versions               ──►    scores    ScoreColumn: raw scores
    the parent layer: its journal and revisions  ──►    fits      parent's, less the rows that a column rejects
                                                        weighted  the sum of the weighted scores that are local

Three verbs: `invalidate` says that an external version has changed (changed rows need no saying: the layer follows
their journals), `update` asks plugins about what is stale, the rest is reading. Whoever builds on a layer follows it in
the same way: its `changes` name rows, and a new `revision` says that any row may have changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from typing import Final

import numpy as np

from kubesched.scheduler.columns import (
    EVERYTHING,
    FEW_ROWS,
    Booleans,
    ClusterTables,
    Everything,
    Follower,
    Integers,
    Journal,
    NodeView,
    PodInfo,
    Positions,
)
from kubesched.scheduler.columns.row_changes import MANY_ROWS, NOTHING, RowChanges, RowFollower, as_rows, too_many
from kubesched.scheduler.engine.answers.filter_column import FilterColumn
from kubesched.scheduler.engine.answers.layer_plugins import LayerPlugins, Stale
from kubesched.scheduler.engine.answers.resource_memo import ResourceMemo
from kubesched.scheduler.engine.answers.score_column import ScoreColumn
from kubesched.scheduler.engine.answers.uniform import every_row
from kubesched.scheduler.engine.answers.weighted_scores import WeightedScores
from kubesched.scheduler.engine.plugin_calls import (
    PASSED,
    AskedRows,
    PreFilterAnswer,
    ask_pre_filter,
    ask_pre_score,
    ask_score,
    check_scores,
    try_filter,
)
from kubesched.scheduler.engine.scratch import PreFiltered
from kubesched.scheduler.framework import CycleState, DependsOn, ScorePlugin

_NO_FITS: Final[Booleans] = np.zeros(0, dtype=np.bool_)
_NO_ROWS: Final[list[int] | Everything] = []
_ANY_ROW: Final = object()
"""In place of an external version: the plugin could not name the rows whose scores changed since."""


class AnswerLayer:
    """Answers of some plugins, upon those of a parent. After `update` they equal answers from scratch.

    `fits`, `feasible` and `rows` are those of this layer and of all below it, the scores are its own.
    """

    def __init__(
        self,
        plugins: LayerPlugins,
        parent: AnswerLayer | None,
        pod: PodInfo,
        versions: list[Hashable],
        cluster: ClusterTables,
        asked: AskedRows,
    ) -> None:
        self.plugins = plugins
        self.parent = parent
        self.versions = versions
        """The external versions that were seen last, in the order of the profile's versioned plugins."""
        self.state: CycleState = CycleState(pod, None if parent is None else parent.state)
        """What these plugins write in PreFilter and PreScore."""
        self._cluster = cluster
        self._asked = asked
        self._rows_changed = RowFollower(cluster.nodes)
        self._inherited: Follower[int] = Follower(Journal() if parent is None else parent.changes)
        self._parent_revision = -1
        self.stale = Stale()
        self.stale.pre_scores.update(plugins.never_pre_scored)
        self._memo: ResourceMemo | None = None
        self.pre_filters: dict[str, PreFilterAnswer] = {}
        self.pre_filters_revision = 0
        """Increases whenever an answer to PreFilter has changed."""
        self.pre_filtered: tuple[int, PreFiltered] | None = None
        """What PreFilter came to for a template whose own layer above this one passed it, with the revision then."""
        self.filters: dict[str, FilterColumn] = {}
        self.unkept: set[str] = set()
        """Filters that give more reasons than a column can hold, or fail on some node: not kept, but asked each time.

        A failure matters only to a pod for which the node is still in question.
        """
        self._skipped: Set[str] | None = None  # the columns are there for all filters but these; None: perhaps not
        self._looks_at_pods = False  # some column depends on the pods of its row
        self.fits: Booleans = _NO_FITS
        """Per row: it has a node, and no column rejects the pod there."""
        self.feasible = 0
        self._rows: Positions | None = None  # the feasible ones, if somebody asked
        self.scores: dict[str, ScoreColumn] = {}
        self.skipped_scores: frozenset[str] = frozenset()
        self.was_ranked = False
        """Somebody has asked for scores before: from the second time on they are kept."""
        self.scores_are_current = False
        """Nobody needs to be asked before the scores are read."""
        self.weighted_scores = WeightedScores()
        """Its revision increases when any of the scores has changed beyond `changes`, normalised ones included."""
        self.changes: Journal[int] = Journal()
        """Rows at which `fits` or a score may have changed."""
        self.revision = 0
        """Increases when `fits` has changed beyond that."""

    # ---- invalidate ----------------------------------------------------------------------------------------------

    def invalidate(self, versions: list[Hashable]) -> None:
        """These are the external versions now: what was answered with others is renewed when it is needed."""
        before, self.versions = self.versions, versions
        is_stale = False
        for name, number in self.plugins.versioned:
            if before[number] != versions[number]:
                is_stale = True
                self.stale.add(name, before[number])
        if is_stale:
            self.scores_are_current = False
            if self.plugins.by_resources:
                self._drop_columns()

    def drop(self) -> None:
        """Nothing that is kept here or below can be relied on."""
        if self.parent is not None:
            self.parent.drop()
        self.pre_filters.clear()
        self.pre_filters_revision += 1
        self.stale.pre_scores.update(self.plugins.never_pre_scored)
        self._drop_columns()

    def _drop_columns(self) -> None:
        self.filters.clear()
        self.scores.clear()
        self.stale.filters.clear()
        self.stale.scores.clear()
        self._skipped = None
        self.scores_are_current = False
        self.weighted_scores.forget()
        self._columns_changed()

    # ---- update: PreFilter ---------------------------------------------------------------------------------------

    def update_pre_filters(self, pod: PodInfo) -> None:
        """Ask again where the external version has changed. Who was never asked is not asked here, either."""
        stale = self.stale.pre_filters
        for plugin in self.plugins.pre_filters:
            if plugin.name in stale and (before := self.pre_filters.get(plugin.name)) is not None:
                now = ask_pre_filter(plugin, self.state, pod, self._cluster.view())
                if now != before:
                    self.pre_filters[plugin.name] = now
                    self.pre_filters_revision += 1
        stale.clear()

    def passes_pre_filters(self, pod: PodInfo) -> bool:
        """Ask those that were never asked; whether all let the pod pass on every node, none of them skipped."""
        for plugin in self.plugins.pre_filters:
            if plugin.name not in self.pre_filters:
                self.pre_filters[plugin.name] = ask_pre_filter(plugin, self.state, pod, self._cluster.view())
        return all(answer == PASSED for answer in self.pre_filters.values())

    # ---- update: Filter ------------------------------------------------------------------------------------------

    def update(self, state: CycleState, pod: PodInfo) -> None:
        """Ask again where something has changed; only after a PreFilter that did not reject the pod."""
        parent, inherited = self.parent, _NO_ROWS
        if parent is not None:
            parent.update(state, pod)
            inherited = self._inherited.changed()
        changed = self._rows_changed.changed(self._looks_at_pods)
        rows: list[int] = []
        if changed is NOTHING:
            if (
                state.skipped_filters is self._skipped
                and not (inherited or self.stale.filters or self.stale.scores)
                and (parent is None or parent.revision == self._parent_revision)
            ):
                return
        elif changed is EVERYTHING:
            self._drop_columns()
        else:
            if self.plugins.by_resources:
                rows = self._recall(changed.nodes + changed.pods, state, pod)
            else:
                rows = self._ask_about(changed, state, pod)
            if parent is None:
                inherited = changed.nodes  # whoever ranks may look at their labels
        stale = self.stale
        if stale.filters or stale.scores:
            rows += self._ask_stale(state, pod, rows)
        is_new = self._skipped is None
        if state.skipped_filters is not self._skipped:
            is_new |= self._complete_filters(state, pod)
        if parent is not None and parent.revision != self._parent_revision:
            self._parent_revision = parent.revision
            is_new = True
        if is_new or inherited is EVERYTHING:
            self._combine(rows)
        elif rows or inherited:
            self._settle(rows, inherited)

    def _ask_about(self, changed: RowChanges, state: CycleState, pod: PodInfo) -> list[int]:
        """Ask about rows with changed nodes or pods. Returns them."""
        if changed.pods:
            self._ask(state, pod, self._cluster.view(as_rows(changed.pods)), by_pods=True)
        if changed.nodes:
            self._ask(state, pod, self._cluster.view(as_rows(changed.nodes)))
        return changed.nodes + changed.pods

    def _recall(self, rows: list[int], state: CycleState, pod: PodInfo) -> list[int]:
        """Recall what was said of nodes with such resource sums, or ask. Returns the rows that are not settled yet."""
        memo = self._memo
        if memo is None:
            memo = self._memo = ResourceMemo(self._cluster.nodes, self.filters.values(), self.scores.values())
        if len(rows) > FEW_ROWS:
            if unknown := memo.recall_all(rows):
                self._ask(state, pod, self._cluster.view(as_rows(rows)))  # about all of them: that takes no longer
                memo.learn(unknown)
            return rows
        unknown = []
        for row in rows:
            answer = memo.recall(row)
            if answer is None:
                unknown.append(row)
            elif self._set(row, answer.fits, answer.weighted):
                self.changes.append(row)
        if unknown:
            self._ask(state, pod, self._cluster.view(as_rows(unknown)))
            memo.learn(unknown)
        return unknown

    def _ask(self, state: CycleState, pod: PodInfo, nodes: NodeView, *, by_pods: bool = False) -> None:
        """Ask about some rows; `by_pods`: only the plugins that look at the pods there."""
        for column in list(self.filters.values()):
            if not by_pods or column.depends_on is not DependsOn.NODE:
                self._ask_filter(column, state, pod, nodes)
        for name, scores in self.scores.items():
            if (not by_pods or scores.depends_on is not DependsOn.NODE) and name not in self.stale.scores:
                self._ask_score(scores, state, pod, nodes)

    def _ask_stale(self, state: CycleState, pod: PodInfo, asked: list[int]) -> list[int]:
        """Plugins with another external version than before: ask about the rows that they name, or about all.

        `asked` are the rows that changed themselves: about them, all but stale scores were asked before.
        Returns the rows that may have changed. Scores that changed anywhere stay stale until they are needed.
        """
        changed: list[int] = []
        for name, since in self.stale.filters.items():
            column = self.filters.get(name)
            if column is None or name in state.skipped_filters:
                continue
            rows = column.plugin.filter_changes(pod.template, since)
            if rows is None or too_many(len(rows), len(self._cluster.nodes)):
                changed += self._replace(column, state, pod)
            elif len(rows):
                self._ask_filter(column, state, pod, self._cluster.view(rows))
                changed += rows.tolist()
        self.stale.filters.clear()
        for name, since in list(self.stale.scores.items()):
            scores = self.scores.get(name)
            if scores is None or since is _ANY_ROW:
                continue
            rows = scores.plugin.score_changes(pod.template, since)
            if rows is None or too_many(len(rows), len(self._cluster.nodes)):
                self.stale.scores[name] = _ANY_ROW
                continue
            del self.stale.scores[name]
            if asked:
                rows = as_rows(sorted({*asked, *rows.tolist()}))
            if len(rows):
                self._ask_score(scores, state, pod, self._cluster.view(rows))
                changed += rows.tolist()
        return changed

    def _complete_filters(self, state: CycleState, pod: PodInfo) -> bool:
        """Fill the columns that are missing, drop those whose plugin skips; whether there were any."""
        skipped, has_changed = state.skipped_filters, False
        if skipped != self._skipped:
            for plugin, depends_on in self.plugins.filters:
                name = plugin.name
                if name in skipped or name in self.unkept:
                    has_changed |= self.filters.pop(name, None) is not None
                elif name not in self.filters:
                    has_changed = True
                    column = self.filters[name] = FilterColumn(plugin, depends_on, self._cluster.nodes.capacity)
                    self._fill(column, state, pod)
        self._skipped = skipped
        if has_changed:
            self._columns_changed()
        return has_changed

    def _fill(self, column: FilterColumn, state: CycleState, pod: PodInfo) -> None:
        """Ask about every row; where nodes that are alike get the same answer, about one of each kind."""
        table, name = self._cluster.nodes, column.plugin.name
        alike = table.sums.alike(len(table)) if column.depends_on is DependsOn.NODE_RESOURCES else None
        nodes = self._cluster.view(None if alike is None else alike.rows)
        self._asked.count += len(nodes)
        verdict = try_filter(column.plugin, state, pod, nodes)
        if alike is not None:
            verdict = verdict.at(alike.kind)
        if verdict.has_failures or not column.merge(slice(0, len(table)), verdict):
            self.unkept.add(name)
            del self.filters[name]

    def _replace(self, column: FilterColumn, state: CycleState, pod: PodInfo) -> Iterable[int]:
        """Ask about every row again; returns those whose answers have changed."""
        nodes = self._cluster.view()
        self._asked.count += len(nodes)
        verdict = try_filter(column.plugin, state, pod, nodes)
        changed = column.replace(verdict)
        if changed is None:
            self._forget(column)  # it has other reasons: `_complete_filters` fills a new one
            return ()
        rows: list[int] = changed.tolist()
        return rows

    def _ask_filter(self, column: FilterColumn, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        self._asked.count += len(nodes)
        verdict = try_filter(column.plugin, state, pod, nodes)
        if verdict.has_failures or not column.merge(nodes.rows, verdict):
            self._forget(column)  # not to be kept, it seems: `_complete_filters` finds out

    def _forget(self, column: FilterColumn) -> None:
        del self.filters[column.plugin.name]
        self._skipped = None

    def _columns_changed(self) -> None:
        self._memo = None
        columns: list[FilterColumn | ScoreColumn] = [*self.filters.values(), *self.scores.values()]
        self._looks_at_pods = any(column.depends_on is not DependsOn.NODE for column in columns)

    # ---- what the columns say together ---------------------------------------------------------------------------

    def _combine(self, rows: list[int]) -> None:
        """Make `fits` from the parent's and the columns, of which these rows are new."""
        parent = self.parent
        self.fits = (self._cluster.nodes.exists if parent is None else parent.fits).copy()
        for column in self.filters.values():
            if column.may_reject:
                self.fits &= column.bits == 0
        self.feasible = int(np.count_nonzero(self.fits))
        self._rows = None
        self.revision += 1
        if rows:
            self.weighted_scores.forget()

    def _settle(self, rows: list[int], inherited: list[int]) -> None:
        """The columns are right at these rows, and what is below at those: take that over."""
        self.weighted_scores.look_at_constants()
        if len(rows) + len(inherited) > FEW_ROWS:
            if len(rows) + len(inherited) > MANY_ROWS:
                self._combine(rows)
            else:
                self._settle_together(rows, inherited)
            return
        for row in rows if rows == inherited else rows + inherited:
            fits = True
            for column in self.filters.values():
                fits = fits and not (column.may_reject and column.bits.item(row))
            self._set(row, fits, self.weighted_scores.at(row))
            self.changes.append(row)  # scores that are normalised may have changed, too

    def _set(self, row: int, fits_here: bool, weighted: int) -> bool:
        """What the columns say of a row, all in all; whether that is something else than before."""
        parent, array, has_changed = self.parent, self.weighted_scores.array, False
        fits: bool = fits_here and (self._cluster.nodes.exists if parent is None else parent.fits).item(row)
        if self.fits.item(row) is not fits:
            self.fits[row] = fits
            self.feasible += 1 if fits else -1
            self._rows = None
            has_changed = True
        if array is not None and array.item(row) != weighted:
            array[row] = weighted
            has_changed = True
        return has_changed

    def _settle_together(self, own: list[int], inherited: list[int]) -> None:
        """As row by row, in array operations. Rows of the layer's own that turn out the same are not passed on."""
        rows = as_rows(sorted({*own, *inherited}))
        fits: Booleans = (self._cluster.nodes.exists if self.parent is None else self.parent.fits)[rows]
        for column in self.filters.values():
            if column.may_reject:
                fits &= column.fits(rows)
        changed = fits != self.fits[rows]
        if np.count_nonzero(changed):
            self.feasible += 2 * int(np.count_nonzero(fits[changed])) - int(np.count_nonzero(changed))
            self.fits[rows] = fits
            self._rows = None
        changed |= self.weighted_scores.settle(rows)
        if all(scores.is_local for scores in self.scores.values()):
            rows = rows[changed]  # of scores that are normalised it is not known whether they have changed
        for row in (*rows.tolist(), *inherited):
            self.changes.append(row)

    def rows(self) -> Positions:
        """The feasible rows. Don't write to them."""
        if self._rows is None:
            rows = len(self._cluster.nodes)
            self._rows = every_row(rows) if self.feasible == rows else self.fits.nonzero()[0]
        return self._rows

    # ---- update: PreScore, Score ---------------------------------------------------------------------------------

    def update_pre_scores(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        """Ask those that were not asked yet, or with another external version; say in `state` who skips."""
        if stale := self.stale.pre_scores:
            skipped = set(self.skipped_scores)
            for plugin in self.plugins.pre_scores:
                if plugin.name in stale:
                    skips = ask_pre_score(plugin, self.state, pod, nodes).is_skip
                    (skipped.add if skips else skipped.discard)(plugin.name)
            self.skipped_scores = frozenset(skipped)
            stale.clear()
        if self.skipped_scores:
            state.skipped_scores |= self.skipped_scores

    def update_scores(self, state: CycleState, pod: PodInfo, rows: Positions) -> None:
        """After `update` and PreScore: fill the columns that are missing, renew those that are stale.

        Raises a PluginError if one of the given rows, which are feasible, has an invalid score.
        """
        if not self.scores_are_current:
            self._complete_scores(state, pod)
        for column in self.scores.values():
            if column.may_be_invalid:
                self.scores_are_current = False  # to be checked again: other rows may be feasible
                column.check(rows)

    def weighted_once(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers | int:
        """Instead of `update_scores` and `weighted`: the weighted scores of some feasible rows, without keeping them.

        Only for a layer by resources, in which every score is local.
        """
        total: Integers | None = None
        for plugin, weight, depends_on in self.plugins.scores:
            if plugin.name not in self.skipped_scores:
                scores = self._scores_of_all(plugin, depends_on, state, pod)[nodes.rows]
                check_scores(plugin, scores)
                weighted = scores if weight == 1 else scores * weight
                total = weighted if total is None else total + weighted
        return 0 if total is None else total

    def _complete_scores(self, state: CycleState, pod: PodInfo) -> None:
        has_changed = False
        for plugin, weight, depends_on in self.plugins.scores:
            column = self.scores.get(plugin.name)
            if plugin.name in self.skipped_scores:
                has_changed |= self.scores.pop(plugin.name, None) is not None
            elif column is None:
                has_changed = True
                column = ScoreColumn(plugin, weight, depends_on, self._cluster.nodes.capacity)
                column.replace(self._scores_of_all(column.plugin, column.depends_on, state, pod))
                self.scores[plugin.name] = column
            elif plugin.name in self.stale.scores:
                self._renew(column, state, pod)
        self.stale.scores.clear()
        self.scores_are_current = True
        if has_changed:
            self._columns_changed()
            self.weighted_scores.forget()

    def _renew(self, column: ScoreColumn, state: CycleState, pod: PodInfo) -> None:
        was_constant, was_local = column.constant is not None, column.is_local
        if not column.replace(self._scores_of_all(column.plugin, column.depends_on, state, pod)):
            return
        if was_local or column.is_local:
            self.weighted_scores.column_changed(column, state, pod, was_constant=was_constant)
        else:
            self.weighted_scores.revision += 1

    def _scores_of_all(self, plugin: ScorePlugin, depends_on: DependsOn, state: CycleState, pod: PodInfo) -> Integers:
        """Ask about every row; where nodes that are alike get the same answer, about one of each kind."""
        table = self._cluster.nodes
        alike = table.sums.alike(len(table)) if depends_on is DependsOn.NODE_RESOURCES else None
        nodes = self._cluster.view(None if alike is None else alike.rows)
        self._asked.count += len(nodes)
        scores = ask_score(plugin, state, pod, nodes)
        return scores if alike is None else scores[alike.kind]

    def _ask_score(self, column: ScoreColumn, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        self._asked.count += len(nodes)
        column.merge(nodes.rows, ask_score(column.plugin, state, pod, nodes))
        if column.may_be_invalid:
            self.scores_are_current = False

    def weighted(self, state: CycleState, pod: PodInfo) -> Integers | int:
        """Per row: the weighted local scores of this layer; one number where it is the same everywhere.

        Don't write to it. It stays up to date while its revision stays the same.
        """
        finds_constants = not self.plugins.by_resources  # there every column is written to soon
        return self.weighted_scores.made(self.scores.values(), state, pod, finds_constants=finds_constants)
