"""The beta distribution: how a share between 0 and 1 is distributed that has this average and deviation.

Plain numbers, not arrays: it is asked about the few nodes that have changed.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, Self

_PRECISION: Final = 1e-16
_TINY: Final = 1e-300
_STEPS: Final = 500
_SMALLEST: Final = 5e-324


class Beta(NamedTuple):
    alpha: float
    beta: float

    @classmethod
    def with_moments(cls, mean: float, deviation: float) -> Self | None:
        """None if no such distribution has this mean and this deviation."""
        variance = (deviation * deviation + mean * mean) - mean * mean
        if mean < 0 or mean > 1 or variance < 0 or variance >= mean * (1 - mean):
            return None
        spread = max(mean * (1 - mean) / variance - 1, _SMALLEST) if variance else math.inf
        if math.isinf(spread):
            return None
        return cls(mean * spread, (1 - mean) * spread)

    def at_most(self, share: float) -> float:
        """The probability of a share that is not greater than this one."""
        probability = _regularized(share, self.alpha, self.beta)
        return probability if 0 <= probability <= 1 else 0.0


def _regularized(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by its continued fraction on the side where that converges fast."""
    if a <= 0 or b <= 0 or x < 0 or x > 1:
        return math.nan
    if x in (0.0, 1.0):
        return x
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1 - math.exp(log_front) * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's method."""
    c, d = 1.0, _away_from_zero(1 - (a + b) * x / (a + 1))
    d = 1 / d
    value = d
    for m in range(1, _STEPS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + step * d)
            c = _away_from_zero(1 + step / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
