"""The scheduling queue: where a pod waits until it is tried, and in which order pods are tried.

    new pod ─ add ─► PreEnqueue ─► active ─ pop ─► in flight ─ done ─► bound or gone
                         │         ▲    ▲               │
                         ▼         │    │               │ add_unschedulable
                       gated       │    └── backoff ◄───┤ an error, or what happened meanwhile helps
                         │         │          ▲         │
                         │         │          │         ▼
                         └─────────┴──────────┴── unschedulable
                          an event that helps, an update, activate, the time-out

Whatever leaves the unschedulable or gated pods goes through PreEnqueue again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import count
from typing import Any, Final

from kubesched.clock import Clock
from kubesched.objects import Pod
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import ClusterEvent, QueuedPod, QueueSortPlugin
from kubesched.scheduler.framework.events import (
    CONFIGURATION_RELOADED,
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_UPDATE,
)
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.scheduler.state.queue.backoff import ORDERING_WINDOW
from kubesched.scheduler.state.queue.dump import describe
from kubesched.scheduler.state.queue.gate import EnqueueGate, PreEnqueuePerProfile
from kubesched.scheduler.state.queue.hints import (
    HintEvaluation,
    HintsPerProfile,
    HintTable,
    QueueingStrategy,
    TemplatePredicate,
)
from kubesched.scheduler.state.queue.in_flight import InFlight
from kubesched.scheduler.state.queue.observer import SILENT, QueueObserver, SubQueue
from kubesched.scheduler.state.queue.pod_events import pod_events
from kubesched.scheduler.state.queue.settings import QueueSettings
from kubesched.scheduler.state.queue.sort_keys import SortKeys
from kubesched.scheduler.state.queue.sub_queues import SubQueues

LEFTOVER_INTERVAL: Final = 30.0
"""Seconds between looks for pods that have waited too long."""

POD_ADDED: Final = UNSCHEDULED_POD_ADD.label
POD_UPDATED: Final = UNSCHEDULED_POD_UPDATE.label
ATTEMPT_FAILED: Final = "ScheduleAttemptFailure"

Checkpoint = Sequence[tuple[SubQueue, QueuedPod, QueuedPod]]
"""Where each pod waits, and what it was like: the queue keeps pods by identity."""


class SchedulingQueue:
    """Every pending pod is in exactly one place: active, backoff, unschedulable or gated, or in flight.

    One event loop owns it: no method but `pop` and `run` waits, and none is called from another thread.
    """

    def __init__(
        self,
        sort: QueueSortPlugin,
        clock: Clock,
        *,
        pre_enqueue: PreEnqueuePerProfile | None = None,
        hints: HintsPerProfile | None = None,
        settings: QueueSettings | None = None,
        nominator: PodNominator | None = None,
        observer: QueueObserver = SILENT,
    ) -> None:
        self.nominator = nominator or PodNominator()
        self._clock = clock
        self._settings = settings or QueueSettings()
        self._observer = observer
        self._hints = HintTable(hints or {})
        gate = EnqueueGate(pre_enqueue or {}, clock, observer)
        self._sub_queues = SubQueues(SortKeys(sort).of, gate, self._settings, clock, observer)
        self._in_flight = InFlight()
        self._pods: dict[str, QueuedPod] = {}
        """All of them, by uid: those that wait and those in flight."""
        self._sequence = count(1)
        self._is_closed = False

    # Pods come, change and go.

    def add(self, info: PodInfo) -> None:
        """Take in a pending pod. One that is known already is updated."""
        known = self._pods.get(info.uid)
        if known is not None:
            self.update(known.info.pod, info)
        else:
            self._add_new(info, POD_ADDED)

    def update(self, old: Pod, new: PodInfo) -> None:
        """A pending pod changed. One that is in flight stays there: its failed attempt will look at the change.

        One that waits for an event is requeued if the change is the event that helps. An unknown one is taken in.
        """
        uid = new.uid
        queued = self._pods.get(uid)
        if old.metadata.uid != uid:
            self.delete(old)
            self.add(new)
        elif queued is None:
            self._add_new(new, POD_UPDATED)
        elif uid in self._in_flight:
            for event in self._events_of(old, new.pod):
                self._in_flight.record(event, old, new.pod)
        else:
            queued.info = new
            self.nominator.update(old, new)
            if uid in self._sub_queues.active:
                self._sub_queues.active.reorder(queued)
            elif uid in self._sub_queues.backoff:
                self._sub_queues.backoff.reorder(queued)
            else:
                self._reconsider(queued, old)

    def delete(self, pod: Pod) -> None:
        """The pod is gone, or bound by somebody else. One in flight stays there until it is done."""
        self.nominator.remove(pod)
        uid = pod.metadata.uid
        if uid not in self._pods:
            return
        queued = self._sub_queues.remove(uid)
        if queued is not None:
            del self._pods[uid]
            self._count_rejections(queued, -1)

    # A pod's attempt.

    async def pop(self) -> QueuedPod | None:
        """The next pod to try; waits for one. None: the queue is closed and empty."""
        while (queued := self.try_pop()) is None:
            if self._is_closed:
                return None
            self._sub_queues.available.clear()
            await self._sub_queues.available.wait()
        return queued

    def try_pop(self) -> QueuedPod | None:
        """The next pod to try, if there is one now. It is in flight from here to its `done`."""
        queued = self._sub_queues.pop_next()
        if queued is not None:
            self._start_attempt(queued)
        return queued

    def pop_specific(self, uid: str) -> QueuedPod | None:
        """As `try_pop`, for one pod, wherever it waits; None if it does not wait here or is gated."""
        self._sub_queues.activate(uid)
        queued = self._sub_queues.active.remove(uid)
        if queued is not None:
            self._start_attempt(queued)
        return queued

    def gating_plugin_of(self, uid: str) -> str:
        """Which plugin keeps a pod that waits here from being tried; empty if none does, or it is not here."""
        parked = self._sub_queues.unschedulable.get(uid)
        return parked.gating_plugin if parked is not None else ""

    def hold_back(self, queued: QueuedPod, plugin: str) -> None:
        """A popped pod is not tried after all, but waits as if the plugin had gated it: a pod of its group is gated."""
        queued.attempts -= 1
        queued.gating_plugin = plugin
        self._in_flight.done(queued.uid)
        self._count_rejections(queued, +1)
        self._sub_queues.park(queued, POD_UPDATED)

    def add_unschedulable(self, queued: QueuedPod) -> None:
        """An attempt failed: take the pod back, with the plugins that rejected it (none: it was an error).

        The pod is no longer in flight afterwards, whatever comes. IllegalTransitionError if it waits here already.
        """
        try:
            self._sub_queues.refuse_duplicate(queued)
            self._pods[queued.uid] = queued
            if queued.unschedulable_plugins or queued.pending_plugins:
                queued.unschedulable_count += 1
                queued.consecutive_errors = 0
            else:
                queued.consecutive_errors += 1
            queued.timestamp = self._clock.monotonic()
            queued.sequence = next(self._sequence)
            queued.was_flushed = False
            queued.flushed_at = 0.0
            self._sub_queues.backoff.begin(queued)
            self._count_rejections(queued, +1)
            self._sub_queues.requeue(queued, self._strategy_after_attempt(queued), ATTEMPT_FAILED)
        finally:
            self._in_flight.done(queued.uid)

    def done(self, uid: str) -> None:
        """The attempt is over for good: the pod is bound or gone. Idempotent, also for a pod that came back."""
        if self._in_flight.done(uid):
            del self._pods[uid]

    # Events.

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        predicate: TemplatePredicate | None = None,
        except_uid: str = "",
    ) -> None:
        """Something happened: requeue the waiting pods that it may help (MoveAllToActiveOrBackoffQueue).

        `predicate` narrows them down; pods with equal templates share its answer. The pod with `except_uid` stays.
        """
        registrations = self._hints.registrations_for(event)
        if not registrations.exist:
            return
        sub_queues, parked = self._sub_queues, self._sub_queues.unschedulable
        groups = parked.by_rejection() if registrations.is_wildcard else parked.rejected_by(registrations.rejectors)
        if groups:
            evaluation = HintEvaluation(registrations, old, new, self._clock, self._observer)
            for queued, strategy in [pair for group in groups for pair in evaluation.pods_to_requeue(group, predicate)]:
                if queued.uid != except_uid:
                    sub_queues.wake(queued, strategy, registrations.label)
        self._in_flight.record(event, old, new)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Try these pods at once, without backoff, if they wait here; those in flight, when they come back."""
        for info in pods:
            if not self._sub_queues.activate(info.uid) and info.uid in self._in_flight:
                self._in_flight.record(FORCE_ACTIVATE, None, info.pod)

    def adopt(
        self,
        sort: QueueSortPlugin,
        *,
        pre_enqueue: PreEnqueuePerProfile,
        hints: HintsPerProfile,
        settings: QueueSettings,
    ) -> None:
        """Other plugins and settings from now on: every pod stays, and those that wait are worth another attempt."""
        waiting, available = list(self._sub_queues), self._sub_queues.available
        self._settings, self._hints = settings, HintTable(hints)
        gate = EnqueueGate(pre_enqueue, self._clock, self._observer)
        self._sub_queues = SubQueues(SortKeys(sort).of, gate, settings, self._clock, self._observer)
        self._sub_queues.available = available  # somebody may be waiting for it
        for place, queued in waiting:
            is_active = place is SubQueue.ACTIVE
            strategy = QueueingStrategy.IMMEDIATELY if is_active else QueueingStrategy.AFTER_BACKOFF
            self._sub_queues.requeue(queued, strategy, CONFIGURATION_RELOADED.label)
        self._in_flight.record(CONFIGURATION_RELOADED, None, None)

    # Time.

    def flush_backoff(self) -> None:
        """Activate the pods whose backoff has passed."""
        self._sub_queues.complete_backoff()

    def flush_unschedulable_leftover(self) -> None:
        """Requeue the pods that no event woke for too long, gated ones included: a hint may be wrong."""
        now = self._clock.monotonic()
        patience = self._settings.max_unschedulable
        parked = self._sub_queues.unschedulable
        overdue = [queued for queued in parked if now - max(queued.timestamp, queued.flushed_at) > patience]
        for queued in overdue:
            queued.was_flushed = True
            queued.flushed_at = now
            self._sub_queues.wake(queued, QueueingStrategy.AFTER_BACKOFF, UNSCHEDULABLE_TIMEOUT.label)
        if overdue:
            self._in_flight.record(UNSCHEDULABLE_TIMEOUT, None, None)

    def next_flush(self) -> float | None:
        """The monotonic time at which a flush may next have something to do, as `run` would; None: not by itself."""
        times = []
        if (completion := self._sub_queues.backoff.next_completion()) is not None:
            times.append(completion)
        if len(self._sub_queues.unschedulable):
            times.append((self._clock.monotonic() // LEFTOVER_INTERVAL + 1) * LEFTOVER_INTERVAL)
        return min(times, default=None)

    async def run(self) -> None:
        """Flush when it is time to, until the queue is closed."""
        next_leftover = self._clock.monotonic()
        while not self._is_closed:
            now = self._clock.monotonic()
            if now >= next_leftover:
                self.flush_unschedulable_leftover()
                next_leftover = now + LEFTOVER_INTERVAL
            # On the window's edge: pods whose backoff ends in one window are to leave together.
            await self._clock.sleep(ORDERING_WINDOW - now % ORDERING_WINDOW)
            self.flush_backoff()

    def close(self) -> None:
        """Wake whoever waits in `pop`. Pods in flight need not be reported back."""
        for queued in list(self._in_flight):
            self.done(queued.uid)
        self._is_closed = True
        self._sub_queues.available.set()

    # Going back.

    def checkpoint(self) -> Checkpoint:
        """Who waits where, for `restore`. No pod may be in flight."""
        return [(place, queued, copy(queued)) for place, queued in self._sub_queues]

    def restore(self, checkpoint: Checkpoint) -> None:
        """Let the pods wait as they did, and no others. The pods themselves must be again what they were."""
        for _, queued in list(self._sub_queues):
            self._sub_queues.remove(queued.uid)
        self._pods = {queued.uid: queued for _, queued, _ in checkpoint}
        for place, queued, was in checkpoint:
            for field in QueuedPod.__struct_fields__:
                setattr(queued, field, getattr(was, field))
            self._sub_queues.put(place, queued)

    # Looking in.

    def counts(self) -> Mapping[SubQueue, int]:
        """How many pods wait where."""
        return self._sub_queues.counts()

    def in_flight_counts(self) -> Mapping[str, int]:
        """How many pods (`PodPopped`) and events, by label, are kept for attempts under way."""
        return self._in_flight.counts()

    def in_flight_pods(self) -> list[Pod]:
        return [queued.info.pod for queued in self._in_flight]

    def waiting(self) -> list[tuple[SubQueue, QueuedPod]]:
        """Every pod that waits, and where: to look at, not to change."""
        return list(self._sub_queues)

    def pending_pods(self) -> tuple[list[Pod], str]:
        """The waiting pods, and how many are where in one line; gated ones count as unschedulable."""
        active, backoff, unschedulable, gated = self._sub_queues.counts().values()
        summary = f"activeQ:{active}; backoffQ:{backoff}; unschedulablePods:{unschedulable + gated}"
        return [queued.info.pod for _, queued in self._sub_queues], summary

    def dump(self) -> str:
        """All pods, waiting and in flight, in one line each."""
        now = self._clock.monotonic()
        waiting = [describe(place, queued, now) for place, queued in self._sub_queues]
        in_flight = [describe("in flight", queued, now) for queued in self._in_flight]
        return "\n".join((self.pending_pods()[1], *waiting, *in_flight))

    # The steps that the above share.

    def _add_new(self, info: PodInfo, label: str) -> None:
        queued = QueuedPod(info, self._clock.monotonic(), sequence=next(self._sequence))
        self._pods[info.pod.metadata.uid] = queued
        if self._sub_queues.admit(queued, label) and info.pod.status.nominated_node_name:
            self.nominator.add(info, None)

    def _start_attempt(self, queued: QueuedPod) -> None:
        queued.attempts += 1
        self._in_flight.start(queued)
        if queued.unschedulable_plugins or queued.pending_plugins:
            self._count_rejections(queued, -1)

    def _events_of(self, old: Pod, new: Pod) -> tuple[ClusterEvent, ...]:
        return pod_events(old, new, self._settings.resource_features)

    def _strategy_for(self, queued: QueuedPod, event: ClusterEvent, old: Any, new: Any) -> QueueingStrategy:
        registrations = self._hints.registrations_for(event)
        return HintEvaluation(registrations, old, new, self._clock, self._observer).strategy_for(queued)

    def _strategy_after_attempt(self, queued: QueuedPod) -> QueueingStrategy:
        """Whether something that happened during the attempt helps (determineSchedulingHintForInFlightPod)."""
        if not (queued.unschedulable_plugins or queued.pending_plugins):
            return QueueingStrategy.AFTER_BACKOFF
        if self._settings.pod_groups and queued.info.pod.spec.scheduling_group is not None:
            return QueueingStrategy.AFTER_BACKOFF
        events = self._in_flight.events_since_start(queued.uid)
        if events is None:
            return QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.IMMEDIATELY if queued.pending_plugins else QueueingStrategy.AFTER_BACKOFF
        answer = QueueingStrategy.SKIP
        for event, old, new in events:
            answer = max(answer, self._strategy_for(queued, event, old, new))
            if answer is best:
                break
        return answer

    def _reconsider(self, queued: QueuedPod, old: Pod) -> None:
        """A parked pod was updated: it stays, unless one of the changes is what its rejecting plugins waited for."""
        new = queued.info.pod
        for event in self._events_of(old, new):
            strategy = self._strategy_for(queued, event, old, new)
            if strategy and self._sub_queues.enqueue(queued, strategy, event.label):
                self._sub_queues.unschedulable.remove(queued.uid)
                return
        self._sub_queues.unschedulable.add(queued)

    def _count_rejections(self, queued: QueuedPod, change: int) -> None:
        profile = queued.info.pod.spec.scheduler_name
        for plugin in queued.rejecting_plugins:
            self._observer.rejections_changed(plugin, profile, change)
