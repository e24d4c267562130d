"""When pods come: a process of arrivals, faster and slower over the day, and bursts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Final

import numpy as np

from kubesched.traces.generate.chance import draw, number, seconds
from kubesched.traces.generate.spec import Arrivals, Bursts, Diurnal

_STEPS_OF_A_PERIOD: Final = 4096
_LEAST_GAP: Final = 1e-3
"""Seconds between two bursts."""


def arrival_times(arrivals: Arrivals, length: float, random: Random) -> list[float]:
    """Seconds after the start, sorted, all before `length`."""
    times = [0.0] * arrivals.at_start
    if arrivals.per_minute:
        times += _process(arrivals, length, random)
    if arrivals.bursts is not None:
        times += _bursts(arrivals.bursts, length, random)
    return sorted(times)


def _process(arrivals: Arrivals, length: float, random: Random) -> list[float]:
    """Gaps with a mean of 1 are drawn first; then the moments at which so many arrivals are due are looked up."""
    expected = arrivals.per_minute / 60 * length
    due: list[float] = []
    reached = _gap(arrivals, random)
    while reached < expected:
        due.append(reached)
        reached += _gap(arrivals, random)
    if arrivals.diurnal is None:
        return [count / expected * length for count in due]
    times, shares = _course(arrivals.diurnal, length)
    return [
        min(float(time), math.nextafter(length, 0.0)) for time in np.interp(np.array(due) / expected, shares, times)
    ]


def _gap(arrivals: Arrivals, random: Random) -> float:
    if arrivals.process == "regular":
        return 1.0
    if arrivals.process == "poisson":
        return -math.log1p(-random.random())
    shape = arrivals.variation**-2
    return random.gammavariate(shape, 1.0 / shape)


def _course(diurnal: Diurnal, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Moments, and the share of all arrivals that is due by then: the integral of a raised cosine."""
    period, peak = seconds(diurnal.period), seconds(diurnal.peak)
    swing = (1.0 - diurnal.low) / (1.0 + diurnal.low)
    steps = max(2, math.ceil(length / period * _STEPS_OF_A_PERIOD))
    times = np.linspace(0.0, length, steps)
    turn = 2.0 * np.pi / period
    due = times + swing / turn * (np.sin(turn * (times - peak)) + np.sin(turn * peak))
    return times, due / due[-1]


def _bursts(bursts: Bursts, length: float, random: Random) -> Iterator[float]:
    within = seconds(bursts.within)
    begins = max(draw(bursts.every, seconds, random), _LEAST_GAP)
    while begins < length:
        for _ in range(round(draw(bursts.size, number, random))):
            time = begins + within * random.random()
            if time < length:
                yield time
        begins += max(draw(bursts.every, seconds, random), _LEAST_GAP)
