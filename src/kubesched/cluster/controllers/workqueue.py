"""Keys that wait to be reconciled: each at most once, failed ones again with growing delays."""

from __future__ import annotations

import heapq
import itertools
from math import inf
from typing import Final, NamedTuple

from kubesched.clock import Clock

FIRST_DELAY: Final = 0.005
LONGEST_DELAY: Final = 60.0


class Key(NamedTuple):
    """What to look at: which controller, which object."""

    controller: str
    namespace: str
    name: str


class WorkQueue:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: dict[Key, None] = {}
        self._later: list[tuple[float, int, Key]] = []
        self._due: dict[Key, float] = {}
        self._sequence = itertools.count()
        self._failures: dict[Key, int] = {}

    def __len__(self) -> int:
        """How many keys can be taken now."""
        return len(self._ready)

    def add(self, key: Key) -> None:
        self._ready.setdefault(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Let the key be taken then at the latest: one that comes earlier anyway looks at everything again."""
        due = self._clock.monotonic() + seconds
        if self._due.get(key, inf) > due:
            self._due[key] = due
            heapq.heappush(self._later, (due, next(self._sequence), key))

    def failed(self, key: Key) -> float:
        """Try the key again, later with each failure in a row; returns how much later."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        delay: float = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(count - 1, 20))
        self.add_after(key, delay)
        return delay

    def succeeded(self, key: Key) -> None:
        self._failures.pop(key, None)

    def release_due(self) -> None:
        """Let keys whose time has come be taken."""
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)

    def take_all(self) -> list[Key]:
        """All keys that can be taken, oldest first."""
        taken = list(self._ready)
        self._ready.clear()
        return taken
