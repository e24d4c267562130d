"""What is due when: one heap for all nodes and pods."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

from kubesched.clock import Clock

Step = Callable[[], None]


class DelayQueue:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Step]] = []
        self._sequence = itertools.count()

    def __len__(self) -> int:
        return len(self._heap)

    def after(self, seconds: float, step: Step) -> None:
        heapq.heappush(self._heap, (self._clock.monotonic() + seconds, next(self._sequence), step))

    def take_due(self, most: int) -> list[Step]:
        """The next steps whose time has come, in order; at most so many."""
        now = self._clock.monotonic()
        due: list[Step] = []
        while self._heap and self._heap[0][0] <= now and len(due) < most:
            due.append(heapq.heappop(self._heap)[2])
        return due
