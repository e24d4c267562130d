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
_SURELY_POSITIVE: Final = -600.0
"""The exponential of this, times and divided by some hundreds, is still greater than 0."""


class Beta(NamedTuple):
    alpha: float
    beta: float
    log_scale: float
    """The logarithm of what its density is divided by, negated."""

    @classmethod
    def of(cls, alpha: float, beta: float) -> Self:
        positive = alpha > 0 and beta > 0
        scale = math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta) if positive else math.nan
        return cls(alpha, beta, scale)

    @classmethod
    def with_moments(cls, mean: float, deviation: float) -> Self | None:
        """None if no such distribution has this mean and this deviation."""
        variance = (deviation * deviation + mean * mean) - mean * mean
        if mean < 0 or mean > 1 or variance < 0 or variance >= mean * (1 - mean):
            return None
        spread = max(mean * (1 - mean) / variance - 1, _SMALLEST) if variance else math.inf
        if math.isinf(spread):
            return None
        return cls.of(mean * spread, (1 - mean) * spread)

    def at_most(self, share: float) -> float:
        """The probability of a share that is not greater than this one."""
        probability = self._regularized(share)
        return probability if 0 <= probability <= 1 else 0.0

    def reaches(self, share: float) -> bool:
        """Whether `at_most` of a share is not 0: most often that is plain without working it out."""
        if 0 < share < 1 and self._log_front(share) > _SURELY_POSITIVE:
            return True
        return self.at_most(share) > 0

    def _log_front(self, x: float) -> float:
        return self.log_scale + self.alpha * math.log(x) + self.beta * math.log1p(-x)

    def _regularized(self, x: float) -> float:
        """The regularized incomplete beta function, by its continued fraction on the side where that converges fast."""
        a, b = self.alpha, self.beta
        if a <= 0 or b <= 0 or not 0 <= x <= 1:
            return math.nan
        if x in (0.0, 1.0):
            return x
        front = math.exp(self._log_front(x))
        if x < (a + 1) / (a + b + 2):
            return front * _fraction(x, a, b) / a
        return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's method. Most of the time that this plugin takes is spent here: nothing is called."""
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _STEPS):
        a_2m = a + 2 * m
        even = m * (b - m) * x / ((a_2m - 1) * a_2m)
        d, c = 1 + even * d, 1 + even / c
        d = 1 / (d if abs(d) > _TINY else _TINY)
        if abs(c) <= _TINY:
            c = _TINY
        value *= c * d
        odd = -(a + m) * (a + b + m) * x / (a_2m * (a_2m + 1))
        d, c = 1 + odd * d, 1 + odd / c
        d = 1 / (d if abs(d) > _TINY else _TINY)
        if abs(c) <= _TINY:
            c = _TINY
        value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value
