"""Bringing raw scores to 0..100 in proportion to the highest one (helper.DefaultNormalizeScore)."""

from __future__ import annotations

import numpy as np

from kubesched.scheduler.columns import Integers
from kubesched.scheduler.framework import MAX_SCORE


def in_proportion(scores: Integers, *, reverse: bool = False) -> Integers:
    """The highest of the (non-negative) scores becomes 100, or 0 with `reverse`, where less is better.

    Without any score above zero nobody is better than the others: all stay 0, or get 100 with `reverse`.
    """
    highest = int(scores.max()) if len(scores) else 0
    if highest <= 0:
        return np.full_like(scores, MAX_SCORE) if reverse else scores
    proportional: Integers = scores * MAX_SCORE // highest
    return MAX_SCORE - proportional if reverse else proportional
