"""Decisions as they were taken, so that "why this node?" is answered later, too.

Every decision is remembered in a few numbers, and as many as there is time for with all that they were made from: the
answers of all filters and scores for every node. That time is limited (`SHARE`, `AT_ONCE`), so that a burst of pods is
scheduled as fast as without; and so is the memory.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

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
AT_ONCE: Final = 0.02
"""Seconds that may be spent so after a quiet time: some seventy decisions among 5,000 nodes, more among fewer."""

_Brief = tuple[str, str, int, int, int, float, float, float, float]
"""The pod's uid, node, feasible and evaluated nodes, attempt, monotonic time of the choice, and durations (`Taken`).

As little as possible is done for each decision: a pod is placed in some thirty microseconds.
"""


class Taken(NamedTuple):
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
    """When the API server reported it bound; 0: it has not, or only this much of the decision is remembered."""


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
        self._taken: deque[_Brief] = deque(maxlen=MOST_DECISIONS)
        self._answers: OrderedDict[str, TakenAnswers] = OrderedDict()
        self._bound_at: dict[str, float] = {}
        """Of pods whose answers are kept."""
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
        brief = next((one for one in reversed(self._taken) if one[0] == uid), None)
        if brief is None or brief[1] != pod.spec.node_name:
            return None, None
        _, node, feasible, evaluated, attempt, decided_at, waited, filtering, scoring = brief
        at = self._clock.time() - (self._clock.monotonic() - decided_at)
        bound_at = self._bound_at.get(uid, 0.0)
        taken = Taken(node, at, feasible, evaluated, attempt, waited, filtering, scoring, bound_at)
        return taken, self._answers.get(uid)

    def decided(
        self,
        queued: QueuedPod,
        node_name: str,
        fit: FeasibleNodes,
        by: tuple[Profile, Evaluator],
        times: tuple[float, float],
    ) -> None:
        now, (started, filtered) = self._clock.monotonic(), times
        uid, came, first = queued.info.pod.metadata.uid, queued.timestamp, queued.initial_attempt
        if first is not None and first < came:
            came = first
        waited, filtering, scoring = started - came, filtered - started, now - filtered
        self._taken.append((uid, node_name, fit.count, fit.evaluated, queued.attempts, now, waited, filtering, scoring))
        self._credit += (now - self._credited_at) * SHARE
        self._credited_at = now
        if self._credit > 0:
            self._keep_answers(uid, fit, *by)
            self._credited_at = self._clock.monotonic()
            self._credit = min(AT_ONCE, self._credit) - (self._credited_at - now)
        elif uid in self._answers:  # those of an earlier attempt
            self._forget(uid)

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
            self._bound_at.pop(uid, None)

    def _names_in(self, nodes: NodeTable) -> tuple[str, ...]:
        """By row; one for all decisions until a node comes, goes or changes."""
        version = nodes.node_changes.position
        if version != self._names_version:
            self._names, self._names_version = tuple(nodes.names), version
        return self._names

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None or old is None or old.spec.node_name or not new.spec.node_name:
            return
        if new.metadata.uid in self._answers:
            self._bound_at[new.metadata.uid] = self._clock.time()


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
