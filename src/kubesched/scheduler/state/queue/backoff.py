"""Pods that wait for their backoff to pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from kubesched.clock import Clock
from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.state.queue.pod_heap import PodHeap
from kubesched.scheduler.state.queue.settings import QueueSettings

ORDERING_WINDOW: Final = 1.0
"""Seconds. Pods whose backoff ends in the same window leave together, in the active queue's order (KEP-5142)."""

_LARGEST_SHIFT: Final = 62
"""A backoff that has doubled this often exceeds any maximum."""


class BackoffQueue:
    """Two heaps: pods that were rejected, and apart from them (`_failed`) pods whose attempt ended in an error.

    A rejected pod may be popped early when there is nothing else to do; after an error the whole backoff counts,
    since it spares an API server in trouble. So it does for members of a pod group, whose retries follow the backoff
    alone: cut short, a group that does not fit would be tried again and again without a pause.
    """

    def __init__(self, sort_key: Callable[[QueuedPod], Any], clock: Clock, settings: QueueSettings) -> None:
        self._clock = clock
        self._initial = settings.initial_backoff
        self._maximum = settings.max_backoff
        self._pops_early = settings.pop_from_backoff
        self._knows_groups = settings.pod_groups
        self._rejected = PodHeap(
            (lambda queued: (queued.backoff_until, sort_key(queued))) if self._pops_early else _expiry
        )
        self._failed = PodHeap(_expiry)

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __contains__(self, uid: str) -> bool:
        return uid in self._rejected or uid in self._failed

    def __iter__(self) -> Iterator[QueuedPod]:
        yield from self._rejected
        yield from self._failed

    def get(self, uid: str) -> QueuedPod | None:
        return self._rejected.get(uid) or self._failed.get(uid)

    def begin(self, queued: QueuedPod) -> None:
        """Set when the pod's backoff ends, counted from its timestamp: doubled with every failure in a row."""
        failures = queued.consecutive_errors or queued.unschedulable_count
        doubled = self._initial * 2 ** min(max(failures - 1, 0), _LARGEST_SHIFT)
        queued.backoff_until = self._align(queued.timestamp + min(doubled, self._maximum))

    def is_backing_off(self, queued: QueuedPod) -> bool:
        """Also in the window in which the backoff ends: the whole window leaves together, at its end."""
        if not self._maximum or not (queued.unschedulable_count or queued.consecutive_errors):
            return False
        return queued.backoff_until >= self._align(self._clock.monotonic())

    def push(self, queued: QueuedPod) -> None:
        is_member = self._knows_groups and queued.info.pod.spec.scheduling_group is not None
        was_rejected = queued.unschedulable_plugins or queued.pending_plugins
        (self._rejected if was_rejected and not is_member else self._failed).push(queued)

    def pop_early(self) -> QueuedPod | None:
        """The next pod to try although its backoff has not passed; None if there is none or that is switched off."""
        return self._rejected.pop() if self._pops_early else None

    def pop_completed(self) -> Iterator[QueuedPod]:
        for heap in (self._rejected, self._failed):
            while (queued := heap.peek()) is not None and not self.is_backing_off(queued):
                heap.pop()
                yield queued

    def next_completion(self) -> float | None:
        """When the next pod can leave: at the end of the window in which its backoff ends. None: no pod is here."""
        first = [queued.backoff_until for heap in (self._rejected, self._failed) if (queued := heap.peek()) is not None]
        return (math.floor(min(first) / ORDERING_WINDOW) + 1) * ORDERING_WINDOW if first else None

    def remove(self, uid: str) -> QueuedPod | None:
        return self._rejected.remove(uid) or self._failed.remove(uid)

    def reorder(self, queued: QueuedPod) -> None:
        """A pod that is here has changed."""
        (self._rejected if queued.uid in self._rejected else self._failed).reorder(queued)

    def _align(self, moment: float) -> float:
        return math.floor(moment / ORDERING_WINDOW) * ORDERING_WINDOW if self._pops_early else moment


def _expiry(queued: QueuedPod) -> float:
    return queued.backoff_until
