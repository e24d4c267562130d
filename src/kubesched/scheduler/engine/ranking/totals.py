"""The weighted scores of all plugins added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from kubesched.scheduler.columns import (
    EVERYTHING,
    FEW_ROWS,
    ClusterTables,
    Follower,
    Integers,
    NodeView,
    PodInfo,
    Positions,
)
from kubesched.scheduler.columns.row_changes import MANY_ROWS, as_rows
from kubesched.scheduler.engine.answers.layer import AnswerLayer
from kubesched.scheduler.engine.answers.score_column import ScoreColumn
from kubesched.scheduler.engine.plugin_calls import AskedRows, ProfilePlugins, ask_pre_score, ask_score, normalized
from kubesched.scheduler.engine.ranking.buckets import INFEASIBLE, Buckets
from kubesched.scheduler.engine.ranking.score_classes import ByDomain, ByValue, ClassBuckets, Classifier
from kubesched.scheduler.engine.scratch import Scores, no_score
from kubesched.scheduler.framework import CycleState, PreScorePlugin, ScorePlugin
from kubesched.scheduler.framework.stopwatch import timed_point

_MOST_RANKINGS_AWAITED: Final = 64

Ranked: TypeAlias = Buckets | ClassBuckets | tuple[Positions, Integers]
"""The totals of all rows, or some rows and theirs."""

_NotLocal: TypeAlias = tuple[ScorePlugin, int, ScoreColumn | None]
"""A plugin whose score of a row depends on other rows or on the cycle, its weight, and its raw scores if kept."""


class Totals:
    """Adds up what the layers keep, and what plugins say that are asked in every cycle.

    The first time scores by resources are not kept: many a template is seen once only. All rows stay in buckets by
    their totals where these depend on no other row, or only through `ClassBuckets`; and only once the feasible rows
    were found the same again: for many templates they never are. Where there were too many classes, it takes longer
    before buckets are made again.
    """

    def __init__(
        self,
        layers: Sequence[AnswerLayer],
        cycle_pre_scores: Sequence[PreScorePlugin],
        cycle_scores: Sequence[tuple[ScorePlugin, int]],
        plugins: ProfilePlugins,
        cluster: ClusterTables,
        asked: AskedRows,
    ) -> None:
        self._layers = layers
        self._top = layers[-1]
        self._cycle_pre_scores = cycle_pre_scores
        self._cycle_scores = cycle_scores
        self._plugins = plugins
        self._cluster = cluster
        self._asked = asked
        self._no_score = no_score(plugins)
        self._not_local: list[_NotLocal] = []
        self._changes = Follower(self._top.changes)
        self._buckets: Buckets | ClassBuckets | None = None
        self._constant = 0  # what the buckets are made of, and follow: a number for all rows,
        self._uneven: list[Integers] = []  # and the layers' weighted scores where these differ
        self._revisions = -1  # of the layers, when all this was right
        self._rankings = 0  # since then
        self._rankings_awaited = 1

    def rank(self, state: CycleState, pod: PodInfo, rows: Positions | None) -> Ranked:
        """The totals of some feasible rows, or (None) of all of them; only after the layers' `update`."""
        if not self._is_current():
            self._update(state, pod, rows)
        elif state.stopwatch is not None:
            state.stopwatch.point("PreScore", self._skip_scores, state)
        buckets = self._buckets
        if isinstance(buckets, Buckets) and rows is None and not self._cycle_scores:
            if self._move_rows(buckets):
                return buckets
            self._forget()
        others = self._not_local
        if self._cycle_scores:
            skipped = state.skipped_scores
            others = others + [(p, weight, None) for p, weight in self._cycle_scores if p.name not in skipped]
        if rows is None:
            kept = self._kept(others, state, pod)
            if kept is not None:
                return kept
            rows = self._top.rows()
        return rows, self._added_up(others, state, pod, rows)

    def scores(self, state: CycleState, pod: PodInfo, rows: Positions) -> Scores:
        """The scores of some feasible rows, plugin by plugin."""
        self._update(state, pod, rows)
        skipped = {*state.skipped_scores, *(name for layer in self._layers for name in layer.skipped_scores)}
        nodes = self._view(rows)
        columns = {name: column for layer in self._layers for name, column in layer.scores.items()}
        by_plugin: dict[str, Integers] = {}
        raw: dict[str, Integers] = {}
        totals = np.full(len(rows), self._no_score, dtype=np.int64)
        for plugin, weight in self._plugins.scores:
            if plugin.name not in skipped:
                raw[plugin.name] = self._raw(plugin, columns.get(plugin.name), state, pod, nodes)
                by_plugin[plugin.name] = normalized(plugin, state, pod, raw[plugin.name])
                totals += weight * by_plugin[plugin.name]
        return Scores(rows, by_plugin, totals, raw)

    # ---- PreScore, Score -----------------------------------------------------------------------------------------

    def _is_current(self) -> bool:
        """Whether nobody needs to be asked, and nothing has changed in the layers beyond single rows."""
        revisions = self._top.revision  # each of them only grows, so does the sum
        for layer in self._layers:
            if not layer.scores_are_current:
                return False
            revisions += layer.weighted_scores.revision
        return revisions == self._revisions and not self._cycle_pre_scores

    def _update(self, state: CycleState, pod: PodInfo, rows: Positions | None) -> None:
        """Ask the plugins whose answers are stale, or not kept; notice what has changed in the layers."""
        self._ask(state, pod, self._top.rows() if rows is None else rows)
        revisions = self._top.revision + sum([layer.weighted_scores.revision for layer in self._layers])
        if revisions != self._revisions:
            self._revisions = revisions
            columns = [column for layer in self._layers for column in layer.scores.values()]
            self._not_local = [(column.plugin, column.weight, column) for column in columns if not column.is_local]
            self._forget()

    def _ask(self, state: CycleState, pod: PodInfo, rows: Positions) -> None:
        timed_point(state.stopwatch, "PreScore", self._pre_score, state, pod, self._view(rows))
        for layer in self._layers:
            if layer.was_ranked or not layer.plugins.by_resources:
                layer.update_scores(state, pod, rows)

    def _forget(self) -> None:
        self._buckets = None
        self._rankings = 0

    def _skip_scores(self, state: CycleState) -> None:
        """All that is left of PreScore where every answer to it is kept."""
        for layer in self._layers:
            state.skipped_scores |= layer.skipped_scores

    def _pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> None:
        for layer in self._layers:
            layer.update_pre_scores(state, pod, nodes)
        for plugin in self._cycle_pre_scores:
            if ask_pre_score(plugin, state, pod, nodes).is_skip:
                state.skipped_scores |= {plugin.name}

    # ---- totals of all rows, kept --------------------------------------------------------------------------------

    def _kept(self, others: list[_NotLocal], state: CycleState, pod: PodInfo) -> Buckets | ClassBuckets | None:
        """The buckets, up to date; None if there are none (yet)."""
        classifiers = _classifiers(others, state, pod) if others else []
        if classifiers is None:
            return None
        buckets = self._buckets
        if buckets is not None and not (buckets.serves(classifiers) and self._move_rows(buckets)):
            self._forget()
            buckets = None
        if buckets is None and self._rankings >= self._rankings_awaited:
            buckets = self._buckets = self._new_buckets(classifiers, state, pod)
        if isinstance(buckets, ClassBuckets) and not buckets.normalize(state, pod):
            self._rankings_awaited = min(2 * self._rankings_awaited, _MOST_RANKINGS_AWAITED)
            self._forget()
            buckets = None
        self._rankings += 1
        return buckets

    def _move_rows(self, buckets: Buckets | ClassBuckets) -> bool:
        """Put rows that have changed into other buckets. False if they are too many."""
        changed = self._changes.changed()
        if changed is EVERYTHING:
            return False
        fits = self._top.fits
        if len(changed) <= FEW_ROWS:
            for row in changed:
                total = INFEASIBLE
                if fits.item(row):
                    total = self._constant
                    for weighted in self._uneven:
                        total += weighted.item(row)
                buckets.set(row, total)
        elif len(changed) > MANY_ROWS:
            return False
        else:
            rows = as_rows(sorted(set(changed)))
            totals = np.full(len(rows), self._constant, dtype=np.int64)
            for weighted in self._uneven:
                totals += weighted[rows]
            buckets.set_all(rows, np.where(fits[rows], totals, INFEASIBLE))
        return True

    def _new_buckets(self, classifiers: list[Classifier], state: CycleState, pod: PodInfo) -> Buckets | ClassBuckets:
        self._changes.skip()
        parts = [layer.weighted(state, pod) for layer in self._layers]
        self._constant = self._no_score + sum([part for part in parts if isinstance(part, int)])
        self._uneven = [part for part in parts if not isinstance(part, int)]
        local = np.full(self._cluster.nodes.capacity, self._constant, dtype=np.int64)
        for weighted in self._uneven:
            local += weighted
        local[~self._top.fits] = INFEASIBLE
        return ClassBuckets(classifiers, local) if classifiers else Buckets(local)

    # ---- totals of some rows, added up ---------------------------------------------------------------------------

    def _added_up(self, others: list[_NotLocal], state: CycleState, pod: PodInfo, rows: Positions) -> Integers:
        nodes, constant = self._view(rows), self._no_score
        totals: Integers | None = None
        for layer in self._layers:
            if layer.was_ranked or not layer.plugins.by_resources:
                weighted = layer.weighted(state, pod)
                here = weighted if isinstance(weighted, int) else weighted[nodes.rows]
            else:
                layer.was_ranked = True
                here = layer.weighted_once(state, pod, nodes)
            if isinstance(here, int):
                constant += here
            else:
                totals = here if totals is None else totals + here
        if totals is None:
            totals = np.full(len(rows), constant, dtype=np.int64)
        elif constant or others:
            totals = totals + constant  # in an array of its own
        for plugin, weight, column in others:
            totals += weight * self._normalized(plugin, column, state, pod, nodes)
        return totals

    def _normalized(
        self, plugin: ScorePlugin, column: ScoreColumn | None, state: CycleState, pod: PodInfo, nodes: NodeView
    ) -> Integers:
        return normalized(plugin, state, pod, self._raw(plugin, column, state, pod, nodes))

    def _raw(
        self, plugin: ScorePlugin, column: ScoreColumn | None, state: CycleState, pod: PodInfo, nodes: NodeView
    ) -> Integers:
        if column is not None:
            kept: Integers = column.raw[nodes.rows]
            return kept
        self._asked.count += len(nodes)
        return ask_score(plugin, state, pod, nodes)

    def _view(self, rows: Positions) -> NodeView:
        """A view of the rows; as a slice, where those are all that there are."""
        return self._cluster.view(None if len(rows) == len(self._cluster.nodes) else rows)


def _classifiers(others: Sequence[_NotLocal], state: CycleState, pod: PodInfo) -> list[Classifier] | None:
    """What these plugins tell rows apart by; None if that cannot be said of all."""
    classifiers: list[Classifier] = []
    for plugin, weight, column in others:
        if not plugin.normalizes_by_value:
            return None
        if column is not None:
            classifiers.append(ByValue(column))
        elif (by_domain := plugin.score_by_domain(state, pod.template)) is not None:
            classifiers.append(ByDomain(by_domain[0], plugin, weight, by_domain[1]))
        else:
            return None
    return classifiers
