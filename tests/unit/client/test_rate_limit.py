"""The client-side token bucket."""

from __future__ import annotations

import pytest

from kubesched.client.rate_limit import RateLimiter
from kubesched.clock import VirtualClock


@pytest.mark.parametrize(
    ("qps", "burst", "asked", "expected"),
    [
        pytest.param(10.0, 2, 4, [0.0, 0.0, 0.1, 0.2], id="a burst goes through, the rest waits its turn"),
        pytest.param(-1.0, 1, 3, [0.0, 0.0, 0.0], id="a negative rate lifts the limit"),
        pytest.param(0.0, 0, 11, [0.0] * 10 + [0.2], id="zero stands for five a second and bursts of ten"),
    ],
)
def test_waits(qps: float, burst: int, asked: int, expected: list[float]) -> None:
    """Requests that are asked for at the same moment."""
    limiter = RateLimiter(VirtualClock(), qps=qps, burst=burst)
    assert [limiter.reserve() for _ in range(asked)] == pytest.approx(expected)


def test_refills_with_time_up_to_the_burst() -> None:
    """A long pause gives back the burst, not more."""
    clock = VirtualClock()
    limiter = RateLimiter(clock, qps=10.0, burst=2)
    limiter.reserve()
    limiter.reserve()
    clock.tick(3600)
    assert [limiter.reserve() for _ in range(3)] == pytest.approx([0.0, 0.0, 0.1])


def test_gives_back() -> None:
    """A request that is given up while it waits does not delay the others."""
    limiter = RateLimiter(VirtualClock(), qps=10.0, burst=1)
    limiter.reserve()
    limiter.reserve()
    limiter.give_back()
    assert limiter.reserve() == pytest.approx(0.1)
