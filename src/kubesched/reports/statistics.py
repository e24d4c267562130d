"""Means with their confidence, and differences of pairs: few seeds, no assumption that they are many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Final

import msgspec

EXACT_PAIRS: Final = 14
"""With up to so many pairs all ways to swap them are tried; with more, `SWAPS` of them."""
SWAPS: Final = 20_000
_T_975: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t for 95 %, both sides, with 1 to 10 degrees of freedom."""
_Z_975: Final = 1.959964


class Interval(msgspec.Struct, frozen=True, rename="camel"):
    """A mean, and where the true one is with 95 % confidence. Of one value, the interval is not known."""

    mean: float
    low: float | None
    high: float | None
    values: int

    @property
    def half_width(self) -> float | None:
        return None if self.high is None else self.high - self.mean


class PairedDifference(msgspec.Struct, frozen=True, rename="camel"):
    """Second minus first, pair by pair: the same trace and seed under both."""

    interval: Interval
    probability: float | None
    """That so large a mean difference is chance; None with fewer than two pairs."""

    @property
    def is_more_than_chance(self) -> bool:
        return self.probability is not None and self.probability <= 0.05


def interval(values: Sequence[float]) -> Interval:
    """By Student's t. There must be a value."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Interval(mean, None, None, count)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = student_t(count - 1) * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


def student_t(freedom: int) -> float:
    """The 97.5 % quantile. From 11 degrees on by Cornish and Fisher's expansion, right to four digits."""
    if freedom <= len(_T_975):
        return _T_975[freedom - 1]
    z = _Z_975
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def paired_difference(pairs: Sequence[tuple[float, float]]) -> PairedDifference:
    """The second of each pair against the first. The probability is that of a permutation test by swapping pairs.

    With n pairs it is at least 2 / 2ⁿ: six are the fewest that can show more than chance at 5 %.
    """
    differences = [second - first for first, second in pairs]
    return PairedDifference(interval(differences), _chance(differences) if len(pairs) > 1 else None)


def _chance(differences: Sequence[float]) -> float:
    observed = abs(math.fsum(differences))
    threshold = observed - 1e-9 * max(observed, 1.0)
    count = len(differences)
    if count <= EXACT_PAIRS:
        signs = list(product((1, -1), repeat=count))
        return sum(abs(_signed(differences, chosen)) >= threshold for chosen in signs) / len(signs)
    random = Random(0)  # noqa: S311 - chance that can be repeated is the point
    extreme = sum(
        abs(_signed(differences, [1 if random.random() < 0.5 else -1 for _ in differences])) >= threshold
        for _ in range(SWAPS)
    )
    return (extreme + 1) / (SWAPS + 1)


def _signed(differences: Sequence[float], signs: Sequence[int]) -> float:
    return sum(sign * difference for sign, difference in zip(signs, differences, strict=True))
