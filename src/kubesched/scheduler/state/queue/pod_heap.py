"""Queued pods in the order of a key, with removal by uid."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, Final

from kubesched.scheduler.framework import QueuedPod

SLACK: Final = 64
"""Entries of removed pods that may always stay: a few are not worth tidying."""

_Entry = tuple[Any, int, QueuedPod]


class PodHeap:
    """Pods in ascending order of a key; pods with equal keys in order of their sequence numbers.

    Mostly a pod comes in after all others in the order, too: such pods form a line, the rest a heap. A removed pod's
    entry stays until it surfaces or such entries outnumber the others: removal costs one dictionary operation, and
    memory stays proportional to the pods held. Entries with equal key and sequence number belong to one pod, so that
    two pods are never compared themselves.
    """

    def __init__(self, key: Callable[[QueuedPod], Any]) -> None:
        self._key = key
        self._line: deque[_Entry] = deque()
        self._heap: list[_Entry] = []
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def __iter__(self) -> Iterator[QueuedPod]:
        """In the order they were pushed, not in that of the key."""
        return (entry[2] for entry in self._entries.values())

    def get(self, uid: str) -> QueuedPod | None:
        entry = self._entries.get(uid)
        return entry[2] if entry is not None else None

    def push(self, queued: QueuedPod) -> None:
        """Add a pod, or give one that is here already its place by its key of now."""
        entry = (self._key(queued), queued.sequence, queued)
        self._entries[queued.info.uid] = entry
        line = self._line
        if not line or line[-1] < entry:
            line.append(entry)
        else:
            heappush(self._heap, entry)

    def peek(self) -> QueuedPod | None:
        line, heap, entries = self._line, self._heap, self._entries
        while line or heap:
            is_in_line = not heap or (line and line[0] < heap[0])
            entry = line[0] if is_in_line else heap[0]
            if entries.get(entry[2].info.uid) is entry:
                return entry[2]
            if is_in_line:
                line.popleft()
            else:
                heappop(heap)
        return None

    def pop(self) -> QueuedPod | None:
        """Remove and return the first pod; None if there is none."""
        line, heap, entries = self._line, self._heap, self._entries
        while line or heap:
            entry = line.popleft() if not heap or (line and line[0] < heap[0]) else heappop(heap)
            queued = entry[2]
            uid = queued.info.uid
            if entries.get(uid) is entry:
                del entries[uid]
                return queued
        return None

    def remove(self, uid: str) -> QueuedPod | None:
        """Take a pod out; None if it is not here."""
        entry = self._entries.pop(uid, None)
        if entry is None:
            return None
        self._tidy()
        return entry[2]

    def reorder(self, queued: QueuedPod) -> None:
        """A pod that is here has changed: give it the place that its key of now asks for."""
        if self._entries[queued.uid][0] != self._key(queued):
            self.push(queued)
            self._tidy()

    def _tidy(self) -> None:
        if len(self._line) + len(self._heap) > 2 * len(self._entries) + SLACK:
            self._line, self._heap = deque(sorted(self._entries.values())), []
