"""A heap of queued pods, with removal by uid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final

from kubesched.framework import QueuedPod

SLACK: Final = 64
"""Entries of removed pods that may always stay: small heaps are not worth tidying."""

_Entry = tuple[Any, int, QueuedPod]


class PodHeap:
    """Pods in ascending order of a key; pods with equal keys in order of their sequence numbers.

    A removed pod's entry stays in the heap until it surfaces or such entries outnumber the others: removal costs
    one dictionary operation, and memory stays proportional to the pods held. Entries with equal key and sequence
    number belong to one pod, so that two pods are never compared themselves.
    """

    def __init__(self, key: Callable[[QueuedPod], Any]) -> None:
        self._key = key
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
        self._entries[queued.info.pod.metadata.uid] = entry
        heappush(self._heap, entry)

    def peek(self) -> QueuedPod | None:
        heap, entries = self._heap, self._entries
        while heap:
            entry = heap[0]
            if entries.get(entry[2].uid) is entry:
                return entry[2]
            heappop(heap)
        return None

    def pop(self) -> QueuedPod | None:
        """Remove and return the first pod; None if there is none."""
        heap, entries = self._heap, self._entries
        while heap:
            entry = heappop(heap)
            queued = entry[2]
            uid = queued.info.pod.metadata.uid
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
        if len(self._heap) > 2 * len(self._entries) + SLACK:
            self._heap = list(self._entries.values())
            heapify(self._heap)
