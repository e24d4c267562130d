"""Time, handed in. Nothing else in kubesched reads the time or sleeps.

`SystemClock` is the machine's; `VirtualClock` stands still until `advance` moves it, and wakes its sleepers in
order: a test or a simulation of an hour takes as long as the work in it.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime
from time import monotonic
from typing import Final, Protocol

_BOOT_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    def time(self) -> float:
        """Seconds since the epoch. For what is shown or written: timestamps of conditions, events, leases."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back. For durations, deadlines and backoff."""
        ...

    def since_boot(self) -> float:
        """As `monotonic`, and time for which the machine slept counts, where that can be known (Linux)."""
        ...

    async def sleep(self, seconds: float) -> None: ...


def utc(clock: Clock) -> datetime:
    """The clock's wall time as an aware datetime."""
    return datetime.fromtimestamp(clock.time(), UTC)


class SystemClock:
    """The machine's clock."""

    monotonic = staticmethod(monotonic)  # the function itself: it is called several times for every pod

    def time(self) -> float:
        return time.time()

    def since_boot(self) -> float:
        return time.clock_gettime(_BOOT_CLOCK)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that moves only when it is advanced. Wall time and monotonic time move together."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._start = start
        self._elapsed = 0.0
        self._sequence = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def time(self) -> float:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed

    def since_boot(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._sequence), woken))
        await woken

    def next_wake(self) -> float | None:
        """The monotonic time at which somebody wakes next; None if nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def tick(self, seconds: float) -> None:
        """Move time without letting anybody run: where nobody wakes meanwhile, and in synchronous tests."""
        self._elapsed += seconds
        self._wake_due()

    async def advance(self, seconds: float) -> None:
        """Move time and let every sleeper that falls due run, in order of its wake-up time."""
        target = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            self._elapsed = max(self._elapsed, self._sleepers[0][0])
            self._wake_due()
            await _settle()
        self._elapsed = target
        await _settle()

    def _wake_due(self) -> None:
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)


async def _settle(rounds: int = 20) -> None:
    """Let ready tasks run until they wait again; a handful of loop turns covers chained awaits."""
    for _ in range(rounds):
        await asyncio.sleep(0)
