"""Pods in flight, and what happened meanwhile.

A pod is in flight from its pop to its `done`: in its scheduling cycle, waiting on permit, or being bound. An event
of that time may be just the one that would help it, so it is kept for as long as the oldest such pod needs it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from kubesched.scheduler.framework import ClusterEvent, QueuedPod

POD_POPPED: Final = "PodPopped"
"""The label under which the metrics count the pods themselves."""


InFlightEvent = tuple[ClusterEvent, Any, Any]
"""An event with its objects, the old one (None for an addition) and the new one (None for a deletion)."""


class InFlight:
    """One log of events for all pods; each pod knows the position at which it started."""

    def __init__(self) -> None:
        # Ordered, for a quick look at the oldest: a plain dict walks over the gaps of those that left.
        self._pods: OrderedDict[str, tuple[int, QueuedPod]] = OrderedDict()
        self._log: deque[InFlightEvent] = deque()
        self._log_start = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __iter__(self) -> Iterator[QueuedPod]:
        return (queued for _, queued in self._pods.values())

    def start(self, queued: QueuedPod) -> None:
        self._pods[queued.info.pod.metadata.uid] = (self._log_start + len(self._log), queued)

    def record(self, event: ClusterEvent, old: Any, new: Any) -> None:
        """Remember an event, if there is any pod to which it may matter."""
        if self._pods:
            self._log.append((event, old, new))

    def events_since_start(self, uid: str) -> Sequence[InFlightEvent] | None:
        """What happened since the pod's attempt started, oldest first; None if it is not in flight."""
        entry = self._pods.get(uid)
        if entry is None:
            return None
        return tuple(islice(self._log, entry[0] - self._log_start, None))

    def done(self, uid: str) -> bool:
        """The pod's attempt is over. False if it was not in flight (any more)."""
        entry = self._pods.pop(uid, None)
        if entry is None:
            return False
        if self._log and entry[0] == self._log_start:
            self._forget_unneeded()
        return True

    def counts(self) -> Counter[str]:
        """How many pods (`PodPopped`) and how many events, by label, are held."""
        counts = Counter(event.label for event, _, _ in self._log)
        if self._pods:
            counts[POD_POPPED] = len(self._pods)
        return counts

    def _forget_unneeded(self) -> None:
        if not self._pods:
            self._log_start += len(self._log)
            self._log.clear()
            return
        needed_from = next(iter(self._pods.values()))[0]
        while self._log_start < needed_from:
            self._log.popleft()
            self._log_start += 1
