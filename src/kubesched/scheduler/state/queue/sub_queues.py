"""The places in which pods wait, and the ways between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kubesched.clock import Clock
from kubesched.errors import IllegalTransitionError
from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.framework.events import FORCE_ACTIVATE
from kubesched.scheduler.state.queue.backoff import BackoffQueue
from kubesched.scheduler.state.queue.gate import EnqueueGate
from kubesched.scheduler.state.queue.hints import QueueingStrategy
from kubesched.scheduler.state.queue.observer import QueueObserver, SubQueue
from kubesched.scheduler.state.queue.pod_heap import PodHeap
from kubesched.scheduler.state.queue.settings import QueueSettings
from kubesched.scheduler.state.queue.unschedulable import UnschedulablePods
from kubesched.telemetry.logging import log

BACKOFF_COMPLETE: Final = "BackoffComplete"
POPPED_FROM_BACKOFF: Final = "PopFromBackoffQ"


class SubQueues:
    """Active, backoff and unschedulable (or gated) pods: each pod in one of them. It knows the ways, not the reasons.

    Labels name the event behind a move, for the metrics.
    """

    def __init__(
        self,
        sort_key: Callable[[QueuedPod], Any],
        gate: EnqueueGate,
        settings: QueueSettings,
        clock: Clock,
        observer: QueueObserver,
    ) -> None:
        self.active = PodHeap(sort_key)
        self.backoff = BackoffQueue(sort_key, clock, settings)
        self.unschedulable = UnschedulablePods()
        self.available = asyncio.Event()
        """Set whenever a pod was added that may be popped."""
        self._gate = gate
        self._gates_backoff = settings.pop_from_backoff
        self._clock = clock
        self._observer = observer

    def __iter__(self) -> Iterator[tuple[SubQueue, QueuedPod]]:
        yield from ((SubQueue.ACTIVE, queued) for queued in self.active)
        yield from ((SubQueue.BACKOFF, queued) for queued in self.backoff)
        yield from ((SubQueue.GATED if q.is_gated else SubQueue.UNSCHEDULABLE, q) for q in self.unschedulable)

    def remove(self, uid: str) -> QueuedPod | None:
        return self.active.remove(uid) or self.backoff.remove(uid) or self.unschedulable.remove(uid)

    def put(self, place: SubQueue, queued: QueuedPod) -> None:
        """A pod that waits nowhere waits there; nobody is asked or told."""
        match place:
            case SubQueue.ACTIVE:
                self.active.push(queued)
            case SubQueue.BACKOFF:
                self.backoff.push(queued)
            case _:
                self.unschedulable.add(queued)

    def counts(self) -> Mapping[SubQueue, int]:
        gated = self.unschedulable.gated_count
        return {
            SubQueue.ACTIVE: len(self.active),
            SubQueue.BACKOFF: len(self.backoff),
            SubQueue.UNSCHEDULABLE: len(self.unschedulable) - gated,
            SubQueue.GATED: gated,
        }

    def pop_next(self) -> QueuedPod | None:
        """The first active pod, or else one whose backoff is cut short."""
        queued = self.active.pop()
        if queued is None:
            queued = self.backoff.pop_early()
            if queued is not None:
                self._enqueued(SubQueue.ACTIVE, queued, POPPED_FROM_BACKOFF)
        return queued

    def admit(self, queued: QueuedPod, label: str) -> bool:
        """Let a pod that waits nowhere into the active queue, or park it, gated. True if it is active now."""
        if self._gate.admits(queued):
            self._push_active(queued, label)
            return True
        self.park(queued, label)
        return False

    def requeue(self, queued: QueuedPod, strategy: QueueingStrategy, label: str) -> None:
        """Give a pod that waits nowhere its place."""
        if not (strategy and self.enqueue(queued, strategy, label)):
            self.park(queued, label)

    def wake(self, queued: QueuedPod, strategy: QueueingStrategy, label: str) -> None:
        """Take a parked pod to the backoff or the active queue; if the gate is closed to it, it stays."""
        if self.enqueue(queued, strategy, label):
            self.unschedulable.remove(queued.uid)
        else:
            self.park(queued, label)

    def enqueue(self, queued: QueuedPod, strategy: QueueingStrategy, label: str) -> bool:
        """Into the backoff or the active queue; False if the gate is closed to the pod."""
        must_wait = strategy is QueueingStrategy.AFTER_BACKOFF and self.backoff.is_backing_off(queued)
        if (self._gates_backoff or not must_wait) and not self._gate.admits(queued):
            return False
        if must_wait:
            self.backoff.push(queued)
            self._enqueued(SubQueue.BACKOFF, queued, label)
            self.available.set()
        else:
            self._push_active(queued, label)
        return True

    def park(self, queued: QueuedPod, label: str) -> None:
        """Among the unschedulable pods, or the gated ones."""
        self.unschedulable.add(queued)
        self._enqueued(SubQueue.UNSCHEDULABLE, queued, label)

    def activate(self, uid: str) -> bool:
        """From wherever the pod waits, unless it is gated. False if it is gated, active already or not here."""
        if (queued := self.backoff.remove(uid)) is not None:
            return self._leave_backoff(queued, FORCE_ACTIVATE.label)
        queued = self.unschedulable.get(uid)
        if queued is None:
            return False
        if not self._gate.admits(queued):
            self.unschedulable.add(queued)
            return False
        self.unschedulable.remove(uid)
        self._push_active(queued, FORCE_ACTIVATE.label)
        return True

    def complete_backoff(self) -> None:
        """Activate the pods whose backoff has passed."""
        for queued in self.backoff.pop_completed():
            self._leave_backoff(queued, BACKOFF_COMPLETE)

    def refuse_duplicate(self, queued: QueuedPod) -> None:
        """IllegalTransitionError if the pod waits already."""
        places = (("active", self.active), ("backoff", self.backoff), ("unschedulable", self.unschedulable))
        for name, place in places:
            if queued.uid in place:
                raise IllegalTransitionError("requeue", f"pod {queued.info.key}", f"it is already in the {name} queue")

    def _leave_backoff(self, queued: QueuedPod, label: str) -> bool:
        if self._gates_backoff:
            # The gate was passed on the way in: a pod in backoff may be popped at any time.
            self._push_active(queued, label)
            return True
        return self.admit(queued, label)

    def _push_active(self, queued: QueuedPod, label: str) -> None:
        if queued.initial_attempt is None:
            queued.initial_attempt = self._clock.monotonic()
        self.active.push(queued)
        self._enqueued(SubQueue.ACTIVE, queued, label)
        self.available.set()

    def _enqueued(self, queue: SubQueue, queued: QueuedPod, label: str) -> None:
        self._observer.pod_enqueued(queue, label)
        if log.loudest >= 5:
            log.info(
                "Pod moved to an internal scheduling queue", v=5, pod=queued.info.key, event=label, queue=queue.value
            )
