"""How long to wait before the next try."""

from __future__ import annotations

import random

from kubesched.clock import Clock


class Backoff:
    """Delays that double from `initial` to `cap`, each stretched by up to `jitter` of itself.

    A pause of `reset_after` seconds between two calls starts over: the server was well in the meantime.
    """

    def __init__(
        self,
        clock: Clock,
        rng: random.Random,
        *,
        initial: float,
        cap: float,
        factor: float = 2.0,
        jitter: float = 1.0,
        reset_after: float = 120.0,
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._initial = initial
        self._cap = cap
        self._factor = factor
        self._jitter = jitter
        self._reset_after = reset_after
        self._next = initial
        self._last_call = clock.monotonic()

    def next_delay(self) -> float:
        """Seconds to wait now."""
        now = self._clock.monotonic()
        if now - self._last_call > self._reset_after:
            self._next = self._initial
        self._last_call = now
        delay, self._next = self._next, min(self._next * self._factor, self._cap)
        return jittered(self._rng, delay, self._jitter)


def jittered(rng: random.Random, seconds: float, factor: float) -> float:
    """Between `seconds` and `seconds × (1 + factor)` (wait.Jitter)."""
    return seconds * (1.0 + rng.random() * factor)
