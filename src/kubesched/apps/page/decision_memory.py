"""Decisions as they were taken, so that "why this node?" is answered later, too.

Every decision is remembered in a few numbers, and as many as there is time for with all that they were made from: the
answers of all filters and scores for every node. That time is limited (`SHARE`, `AT_ONCE`), so that a burst of pods is
scheduled as fast as without; and so is the memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec
import numpy as np

from kubesched.clock import Clock
from kubesched.objects import Pod
from kubesched.scheduler.columns import Integers, NodeTable
from kubesched.scheduler.engine import Evaluator, FeasibleNodes, Scores
from kubesched.scheduler.engine.answers.uniform import uniform
from kubesched.scheduler.engine.scratch import Rejection
from kubesched.scheduler.framework import ObjectStores, QueuedPod
from kubesched.scheduler.runtime.profile import Profile
from kubesched.telemetry.logging import log

MOST_DECISIONS: Final = 20_000
MOST_BYTES: Final = 32 << 20
"""For the answers of all plugins."""
SHARE: Final = 0.005
"""Of the time that may be spent on keeping these answers, over time."""
AT_ONCE: Final = 0.05
"""Seconds that may be spent so after a quiet time: some hundred decisions."""


class Taken(msgspec.Struct, gc=False, eq=False):
    """A decision in a few numbers; times in seconds."""

    node: str
    at: float
    """Wall time of the choice."""
    feasible: int
    evaluated: int
    attempt: int
    waited: float
    """In the queue and between attempts, since it came."""
    filtering: float
    scoring: float
    bound_at: float = 0.0
    """When the API server reported it bound; 0: it has not."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TakenAnswers:
    """What a decision was made from. Rows are those of the node table at that time, with these `names`."""

    names: tuple[str, ...]
    rejections: tuple[Rejection, ...]
    """No row twice: a node has the answer of the first filter that rejected it."""
    scores: Scores | None
    """None if no other node was left to compare with."""
    weights: Mapping[str, int]
    size: int


class DecisionMemory:
    """A `DecisionObserver`; its methods are for the scheduler's loop. What it returns never changes afterwards."""

    def __init__(self, clock: Clock, *, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._most_bytes = most_bytes
        self._taken: OrderedDict[str, Taken] = OrderedDict()
        self._answers: OrderedDict[str, TakenAnswers] = OrderedDict()
        self.size = 0
        """Of the answers that are kept, in bytes."""
        self._names: tuple[str, ...] = ()
        self._names_version = -1
        self._credit = AT_ONCE
        self._credited_at = clock.monotonic()
        self._has_failed = False

    def follow(self, objects: ObjectStores) -> None:
        """Note when pods are bound."""
        objects.of(Pod).subscribe(self._changed)

    def of(self, pod: Pod) -> tuple[Taken | None, TakenAnswers | None]:
        """What is remembered of the decision that put a pod where it is."""
        uid = pod.metadata.uid
        taken = self._taken.get(uid)
        if taken is None or taken.node != pod.spec.node_name:
            return None, None
        return msgspec.structs.replace(taken), self._answers.get(uid)

    def decided(
        self,
        queued: QueuedPod,
        node_name: str,
        fit: FeasibleNodes,
        by: tuple[Profile, Evaluator],
        times: tuple[float, float],
    ) -> None:
        clock, (started, filtered) = self._clock, times
        now = clock.monotonic()
        uid, first = queued.info.pod.metadata.uid, queued.initial_attempt
        came = queued.timestamp if first is None else min(queued.timestamp, first)
        self._taken[uid] = Taken(
            node_name,
            clock.time(),
            fit.count,
            fit.evaluated,
            queued.attempts,
            started - came,
            filtered - started,
            now - filtered,
        )
        if len(self._taken) > MOST_DECISIONS:
            self._taken.popitem(last=False)
        self._credit = min(AT_ONCE, self._credit + (now - self._credited_at) * SHARE)
        self._credited_at = now
        if self._credit > 0:
            self._keep_answers(uid, fit, *by)
            self._credited_at = clock.monotonic()
            self._credit -= self._credited_at - now

    def _keep_answers(self, uid: str, fit: FeasibleNodes, profile: Profile, evaluator: Evaluator) -> None:
        stopwatch, fit.state.stopwatch = fit.state.stopwatch, None  # it times the attempt, not us
        try:
            scores = _compact(evaluator.score(fit)) if fit.count > 1 else None
            rejections = tuple(fit.rejections())
        except Exception as error:  # a plugin's: whatever it is, the decision stands
            if not self._has_failed:
                log.error("A decision cannot be remembered in full", error, pod=fit.pod.key)
            self._has_failed = True
            return
        finally:
            fit.state.stopwatch = stopwatch
        names = self._names_in(profile.handle.cluster.nodes)
        size = _bytes_of(rejections, scores)
        weights = profile.score_weights
        self._forget(uid)
        self._answers[uid] = TakenAnswers(names=names, rejections=rejections, scores=scores, weights=weights, size=size)
        self.size += size
        while self.size > self._most_bytes and self._answers:
            self._forget(next(iter(self._answers)))

    def _forget(self, uid: str) -> None:
        if (before := self._answers.pop(uid, None)) is not None:
            self.size -= before.size

    def _names_in(self, nodes: NodeTable) -> tuple[str, ...]:
        """By row; one for all decisions until a node comes, goes or changes."""
        version = nodes.node_changes.position
        if version != self._names_version:
            self._names, self._names_version = tuple(nodes.names), version
        return self._names

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None or not new.spec.node_name or old is None or old.spec.node_name:
            return
        if (taken := self._taken.get(new.metadata.uid)) is not None:
            taken.bound_at = self._clock.time()


def _compact(scores: Scores) -> Scores:
    """The same numbers in as few bytes as they need."""
    raw = {plugin: _small(column) for plugin, column in scores.raw.items()}
    final = {
        plugin: raw[plugin] if column is scores.raw[plugin] else _small(column)
        for plugin, column in scores.by_plugin.items()
    }
    return replace(
        scores, rows=scores.rows.astype(np.int32), by_plugin=final, totals=scores.totals.astype(np.int32), raw=raw
    )


def _small(column: Integers) -> Integers:
    lowest, highest = column.min(), column.max()
    if lowest == highest:
        return uniform(int(lowest), len(column))
    kind = np.result_type(np.min_scalar_type(lowest), np.min_scalar_type(highest))
    return column.astype(kind)


def _bytes_of(rejections: tuple[Rejection, ...], scores: Scores | None) -> int:
    arrays = [array for said in rejections for array in (said.rows, said.verdict.bits)]
    if scores is not None:
        distinct = {id(column): column for column in (*scores.raw.values(), *scores.by_plugin.values())}
        arrays += [scores.rows, scores.totals, *distinct.values()]
    return 500 + sum(array.nbytes for array in arrays if array.strides != (0,))
