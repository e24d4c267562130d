"""Judges bindings: would our scheduler, with its configuration, have chosen that node on the state just before it?

The state follows the entries of a trace, live or recorded, with bindings in the order of their decisions as far as
that is known (`decision_order`). When the scheduler knew of everything else, a deleted pod or a changed node, is not
known to the moment; so where a binding does not look right, it is judged again on the states around it: without the
last such changes that came before it, and with the next ones. If one of these agrees, the difference is one of order,
not of opinion.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from random import Random
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from kubesched.apps.shadow.decision_order import DecisionOrder, Ordered, Place
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.simulate.virtual_scheduler import Configuration, build_virtual_scheduler
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates
from kubesched.errors import KubeschedError
from kubesched.objects import Pod
from kubesched.scheduler.build import Assembled, Dependencies
from kubesched.scheduler.columns import Integers
from kubesched.scheduler.framework import PluginFactory
from kubesched.scheduler.scheduling.sampling import nodes_to_find
from kubesched.traces import Change, ChangeType, Decision, DecisionType, Entry

RECENT_CHANGES: Final = 128
RECENT_SECONDS: Final = 3.0
"""How far a decision and its binding may lie apart: so many other bindings are under way at a time, and for so long."""
MOST_MOVED: Final = 8
"""Changes whose order may differ for one binding. With more, almost any node would be the best one of some state."""


class Verdict(StrEnum):
    """What we think of a binding; the first four are agreement."""

    SAME = "same"  # the one best node
    TIED = "tied"  # one of several best nodes
    ORDER = "order"  # same or tied on a state shortly before or after
    SAMPLED = "sampled"  # lower, but the other scheduler looks at a sample of the nodes only
    LOWER = "lower"  # another node has more points
    REJECTED = "rejected"  # a plugin of ours rejects the node
    WE_WAIT = "weWait"  # they find a node, we find none
    FAILED = "failed"  # our own evaluation failed
    WAITS = "waits"  # they find no node, we do


AGREEMENT: Final = (Verdict.SAME, Verdict.TIED, Verdict.ORDER, Verdict.SAMPLED)


class Judgement(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """One binding, or one pod that waits, as we see it."""

    time: float
    pod: str
    node: str
    verdict: Verdict
    loss: int = 0
    """Points that the best node has more."""
    ahead: int = 0
    """Points that all better nodes have more, together."""
    ours: str = ""
    """A best node of ours."""
    plugin: str = ""
    """Who rejects the node; of a lower one, who prefers ours most."""
    reason: str = ""
    margins: dict[str, int] = {}
    """By plugin: weighted points that our best node has more than theirs."""
    weights: dict[str, tuple[int, int]] = {}
    """By plugin: from and to which weight of its own their node would be best, all else as it is."""


class _Applied(NamedTuple):
    """A change that the state has taken up."""

    time: float
    old: Any
    new: Any
    place: Place | None = None
    """In the order of decisions, where it is a binding of which that is known."""

    @property
    def known(self) -> Any:
        """The object, in one of its states."""
        return self.new if self.new is not None else self.old

    @property
    def uid(self) -> str:
        return str(self.known.metadata.uid)

    @property
    def nodes(self) -> set[str]:
        """The nodes that it is about."""
        if isinstance(self.known, Pod):
            return {pod.spec.node_name for pod in (self.old, self.new) if pod is not None}
        return {self.known.metadata.name}

    @property
    def is_waiting(self) -> bool:
        """Whether it is about a pod that has no node: nothing changes for the others."""
        return all(obj is None or (isinstance(obj, Pod) and not obj.spec.node_name) for obj in (self.old, self.new))


class _Doubtful(NamedTuple):
    """A binding that we did not agree with, and the changes shortly before and after it, oldest first."""

    judgement: Judgement
    pod: Pod
    place: Place | None
    before: list[_Applied]
    after: list[_Applied]

    def may_move(self, change: _Applied) -> bool:
        """Whether the scheduler may have known of this change at another moment than we did."""
        if change.uid == self.pod.metadata.uid:
            return False
        mine, other = self.place, change.place
        return mine is None or other is None or not (mine.is_before(other) or other.is_before(mine))


class Judge:
    """Takes entries in the order of time; judgements are final when they are reported.

    That may be some seconds later, and for the last ones when it is closed.
    """

    def __init__(
        self,
        config: Configuration = None,
        *,
        feature_gates: str = "",
        emulated_version: str = "",
        plugins: Mapping[str, PluginFactory] | None = None,
        percentage_of_nodes: int = 0,
        report: Callable[[Judgement], None] | None = None,
    ) -> None:
        """`report` gets every judgement; without it they are kept in `judgements`.

        `percentage_of_nodes`: what the judged scheduler samples, as in its configuration; 0 is its default.
        """
        gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
        self.judgements: list[Judgement] = []
        self._report = report or self.judgements.append
        self._order = DecisionOrder(self._take_ordered)
        self._percentage = percentage_of_nodes
        self._clock = VirtualClock(0.0)
        api = MemoryApi()
        dependencies = Dependencies(api=api, recorder=_NoEvents(), clock=self._clock, random=Random(0))  # noqa: S311 - nothing is drawn
        self._assembled: Assembled = build_virtual_scheduler(config, gates, dependencies, plugins)
        self._weights = {name: profile.score_weights for name, profile in self._assembled.profiles.items()}
        self._recent: deque[_Applied] = deque(maxlen=RECENT_CHANGES)
        self._doubtful: list[_Doubtful] = []
        self._versions = 0

    def take(self, entry: Entry) -> None:
        self._order.take(entry)

    def _take_ordered(self, ordered: Ordered) -> None:
        entry = ordered.entry
        if entry.time > self._clock.time():
            self._clock.tick(entry.time - self._clock.time())
        if isinstance(entry, Change):
            self._take_change(entry, ordered)
        elif isinstance(entry, Decision) and entry.type is DecisionType.UNSCHEDULABLE:
            self._judge_waiting(entry, ordered)

    def close(self) -> None:
        """No more entries: what is in doubt is final."""
        self._order.close()
        for doubtful in self._doubtful:
            self._settle(doubtful)
        self._doubtful = []

    # Changes.

    def _take_change(self, change: Change, ordered: Ordered) -> None:
        new = None if change.type is ChangeType.DELETED else self._versioned(change.object)
        old = self._current(change.object)
        if isinstance(new, Pod) and isinstance(old, Pod) and new.spec.node_name and not old.spec.node_name:
            self._judge_binding(change.time, old, new.spec.node_name, ordered)
        self._apply(old, new)
        applied = _Applied(change.time, old, new, ordered.place)
        if not applied.is_waiting:
            self._recent.append(applied)
            self._judge_again(applied)

    def _apply(self, old: Any, new: Any) -> None:
        handlers = self._assembled.handlers
        if new is None:
            if old is not None:
                handlers.delete(old)
        elif old is None:
            handlers.add(new)
        elif old.metadata.uid != new.metadata.uid or _is_unbound(old, new):
            handlers.delete(old)
            handlers.add(new)
        else:
            handlers.update(old, new)

    def _current(self, obj: Any) -> Any:
        return self._assembled.objects.of(type(obj)).get(obj.metadata.name, obj.metadata.namespace)

    def _versioned(self, obj: Any) -> Any:
        """With a version of its own: a change that is undone and done again must not look like none."""
        self._versions += 1
        return replace(obj, metadata=replace(obj.metadata, resource_version=f"shadow-{self._versions}"))

    # Judging.

    def _judge_binding(self, time: float, pod: Pod, node: str, ordered: Ordered) -> None:
        judgement = self._evaluate(time, pod, node)
        if judgement is not None:
            self._judged(judgement, pod, ordered)

    def _judge_waiting(self, decision: Decision, ordered: Ordered) -> None:
        """They find no node: neither do we, or it is in doubt."""
        namespace, _, name = decision.pod.rpartition("/")
        pod = self._assembled.objects.of(Pod).get(name, namespace)
        if pod is None or pod.spec.node_name:
            return
        judgement = self._evaluate(decision.time, pod, "")
        if judgement is not None and judgement.verdict is Verdict.WAITS:
            self._judged(replace(judgement, reason=decision.message), pod, ordered)

    def _judged(self, judgement: Judgement, pod: Pod, ordered: Ordered) -> None:
        """Report it, unless a state shortly before or after may change it."""
        if judgement.verdict in AGREEMENT:
            is_moved = ordered.is_moved and judgement.verdict is not Verdict.SAMPLED
            self._report(replace(judgement, verdict=Verdict.ORDER) if is_moved else judgement)
            return
        doubtful = _Doubtful(judgement, pod, ordered.place, [], [])
        recent = (change for change in self._recent if abs(judgement.time - change.time) <= RECENT_SECONDS)
        doubtful.before.extend(filter(doubtful.may_move, recent))
        self._doubtful.append(doubtful)

    def _judge_again(self, change: _Applied) -> None:
        """Judge what is in doubt once nothing more can have been decided before it."""
        still = []
        for doubtful in self._doubtful:
            if change.time - doubtful.judgement.time > RECENT_SECONDS or len(doubtful.after) > RECENT_CHANGES:
                self._settle(doubtful, passed=[change])
            else:
                doubtful.after.append(change)
                still.append(doubtful)
        self._doubtful = still

    def _settle(self, doubtful: _Doubtful, passed: Sequence[_Applied] = ()) -> None:
        """Look for an order of the changes around the binding with which we agree: see `_agrees_in_another_order`.

        `passed` are changes since then that count no more. The state is the same afterwards.
        """
        judgement, uid = doubtful.judgement, doubtful.pod.metadata.uid
        others = [change for change in doubtful.after if change.uid != uid]
        after = [change for change in others if doubtful.may_move(change)]
        if doubtful.before or after:
            with self._undone([*passed, *reversed(others)]):
                if self._agrees_in_another_order(doubtful, doubtful.before, after):
                    judgement = replace(judgement, verdict=Verdict.ORDER)
        if judgement.verdict is not Verdict.ORDER or judgement.node:  # two that wait agree: that is no binding
            self._report(judgement)

    def _agrees_in_another_order(
        self, doubtful: _Doubtful, before: Sequence[_Applied], after: Sequence[_Applied]
    ) -> bool:
        """Whether a few changes, those before the binding undone or those after it done, make us agree.

        One at a time, the one that brings us closest: so each is needed, and not many are tried.
        """
        judgement, pod = doubtful.judgement, doubtful.pod
        flips = [(change, False) for change in before] + [(change, True) for change in after]
        with ExitStack() as flipped:
            for _ in range(MOST_MOVED):
                best, best_flip = judgement, None
                for flip in _about(flips, (judgement.node, best.ours)) or flips:
                    with self._flipped(*flip):
                        again = self._evaluate(judgement.time, pod, judgement.node) or judgement
                    if again.verdict in AGREEMENT:
                        return True
                    if _distance(again) < _distance(best):
                        best, best_flip = again, flip
                if best_flip is None:
                    return False
                judgement = best
                flips.remove(best_flip)
                flipped.enter_context(self._flipped(*best_flip))
        return False

    @contextmanager
    def _flipped(self, change: _Applied, is_done: bool) -> Iterator[None]:
        """The state with a change of later on done, or with an earlier one undone."""
        current, flipped = self._current(change.known), change.new if is_done else change.old
        self._apply(current, None if flipped is None else self._versioned(flipped))
        try:
            yield
        finally:
            self._apply(self._current(change.known), None if current is None else self._versioned(current))

    @contextmanager
    def _undone(self, changes: Sequence[_Applied]) -> Iterator[None]:
        """The state without these changes, which are given latest first."""
        for change in changes:
            self._apply(change.new, None if change.old is None else self._versioned(change.old))
        try:
            yield
        finally:
            for change in reversed(changes):
                self._apply(self._current(change.known), change.new)

    def _evaluate(self, time: float, pod: Pod, node: str) -> Judgement | None:
        """What we say of the node now, as if the pod were on none; None if the pod is none of our business."""
        profile = self._profile_of(pod)
        if profile is None:
            return None
        cluster = self._assembled.cache.cluster
        placed_on = self._assembled.cache.node_of(pod.metadata.uid)
        placed = cluster.displace(pod.metadata.uid) if placed_on is not None else None
        try:
            return self._compare(time, pod, node, profile)
        except KubeschedError as error:
            return Judgement(time=time, pod=pod.key, node=node, verdict=Verdict.FAILED, reason=str(error))
        finally:
            if placed is not None and placed_on is not None:
                cluster.place(placed, placed_on)

    def _compare(self, time: float, pod: Pod, node: str, profile: str) -> Judgement:
        cluster, evaluator = self._assembled.cache.cluster, self._assembled.evaluators[profile]
        feasible = evaluator.filter(cluster.templates.info(pod))
        row = cluster.nodes.row_of.get(node)
        judgement = Judgement(time=time, pod=pod.key, node=node, verdict=Verdict.REJECTED)
        if not feasible.count:
            verdict = Verdict.WE_WAIT if node else Verdict.SAME
            return replace(self._rejected(judgement, feasible), verdict=verdict)
        scores = evaluator.score(feasible)
        best = int(scores.totals.max())
        judgement.ours = cluster.nodes.names[int(scores.rows[int(scores.totals.argmax())])]
        if not node:
            return replace(judgement, verdict=Verdict.WAITS, ahead=feasible.count)
        if row is None or not feasible.takes(np.array([row])).all():
            return self._rejected(judgement, feasible)
        position = int(np.flatnonzero(scores.rows == row)[0])
        judgement.loss = best - int(scores.totals[position])
        judgement.ahead = int(np.maximum(scores.totals - scores.totals[position], 0).sum())
        if judgement.loss == 0:
            is_only = int(np.count_nonzero(scores.totals == best)) == 1
            return replace(judgement, verdict=Verdict.SAME if is_only else Verdict.TIED, ours=node)
        weights = self._weights[profile]
        winner = int(scores.totals.argmax())
        judgement.margins = {
            name: int(values[winner] - values[position]) * weights[name] for name, values in scores.by_plugin.items()
        }
        judgement.plugin = max(judgement.margins, key=lambda name: (judgement.margins[name], name))
        judgement.weights = {
            name: interval
            for name, values in scores.by_plugin.items()
            if (interval := _explaining_weights(values, scores.totals - values * weights[name], position)) is not None
        }
        sampled = nodes_to_find(self._percentage, cluster.nodes.node_count) if self._percentage < 100 else 0
        judgement.verdict = Verdict.SAMPLED if 0 < sampled < feasible.count else Verdict.LOWER
        return judgement

    def _rejected(self, judgement: Judgement, feasible: Any) -> Judgement:
        statuses = feasible.diagnosis().statuses
        status = statuses.get(judgement.node, statuses.absent)
        return replace(judgement, plugin=status.plugin, reason=status.message)

    def _profile_of(self, pod: Pod) -> str | None:
        """The profile that the pod asks for; where there is one profile only, that one, whatever it is called."""
        profiles = self._assembled.profiles
        if pod.spec.scheduler_name in profiles:
            return pod.spec.scheduler_name
        return next(iter(profiles)) if len(profiles) == 1 else None


def _distance(judgement: Judgement) -> float:
    """How far from agreement it is."""
    return judgement.ahead if judgement.verdict in (Verdict.LOWER, Verdict.WAITS) else math.inf


def _is_unbound(old: Any, new: Any) -> bool:
    return isinstance(old, Pod) and bool(old.spec.node_name) and not new.spec.node_name


def _about(flips: Sequence[tuple[_Applied, bool]], nodes: tuple[str, str]) -> list[tuple[_Applied, bool]]:
    return [flip for flip in flips if not flip[0].nodes.isdisjoint(nodes)]


def _explaining_weights(scores: Integers, others: Integers, position: int) -> tuple[int, int] | None:
    """The weights of one plugin with which the node at this position is among the best, the others as they are."""
    ahead, behind = scores[position] - scores, others - others[position]  # weight * ahead >= behind, for every node
    if np.any((ahead == 0) & (behind > 0)):
        return None
    up, down = ahead > 0, ahead < 0
    least = max(0, int(np.ceil((behind[up] / ahead[up]).max()))) if up.any() else 0
    most = int(np.floor((behind[down] / ahead[down]).min())) if down.any() else 100
    return (least, min(most, 100)) if least <= min(most, 100) else None


class _NoEvents:
    def event(self, *arguments: object, **more: object) -> None:
        """Nothing is decided here, so there is nothing to report."""
