"""The client-side rate limit: a token bucket, as client-go's flowcontrol has it."""

from __future__ import annotations

import math
from typing import Final

from kubesched.clock import Clock

NO_LIMIT: Final = -1.0
DEFAULT_QPS: Final = 5.0
DEFAULT_BURST: Final = 10


class RateLimiter:
    """At most `burst` requests at once and `qps` per second in the long run, in the order of their asking.

    A negative qps lifts the limit; zero stands for client-go's defaults.
    """

    def __init__(self, clock: Clock, *, qps: float, burst: int) -> None:
        self._clock = clock
        self._qps = qps or DEFAULT_QPS
        self._burst = float(burst or DEFAULT_BURST)
        if qps < 0:
            self._qps, self._burst = 0.0, math.inf  # a bucket without a bottom, that nothing need flow into
        self._tokens = self._burst
        self._filled_at = clock.monotonic()

    def reserve(self) -> float:
        """Take a token; the seconds to wait until it is due. 0.0 means go ahead."""
        now = self._clock.monotonic()
        filled = self._tokens + (now - self._filled_at) * self._qps
        self._tokens = left = (filled if filled < self._burst else self._burst) - 1.0
        self._filled_at = now
        return 0.0 if left >= 0.0 else -left / self._qps

    def give_back(self) -> None:
        """Return a token whose request was given up while it waited."""
        self._tokens += 1.0
