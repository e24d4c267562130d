"""Delays between tries."""

from __future__ import annotations

import random

import pytest

from kubesched.client.backoff import Backoff, jittered
from kubesched.clock import VirtualClock


def test_doubles_up_to_the_cap_and_starts_over_after_a_pause() -> None:
    """Without jitter the series is exact."""
    clock = VirtualClock()
    backoff = Backoff(clock, random.Random(1), initial=0.8, cap=30.0, jitter=0.0)
    assert [backoff.next_delay() for _ in range(7)] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0])
    clock.tick(121)
    assert backoff.next_delay() == pytest.approx(0.8)


def test_jitter_only_stretches() -> None:
    """Between the delay and the delay times (1 + factor)."""
    rng = random.Random(1)
    delays = [jittered(rng, 2.0, 1.2) for _ in range(200)]
    assert min(delays) >= 2.0
    assert max(delays) <= 4.4
    assert max(delays) - min(delays) > 1.0
