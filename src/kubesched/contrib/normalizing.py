"""Raw scores in any unit, brought to 0..100."""

from __future__ import annotations

import numpy as np

from kubesched.framework import MAX_SCORE, Integers


def spread(scores: Integers) -> Integers:
    """The lowest becomes 0 and the highest 100; all are 0 if they are equal."""
    if not len(scores):
        return scores
    lowest = scores.min()
    between = scores.max() - lowest
    return (scores - lowest) * MAX_SCORE // between if between else np.zeros_like(scores)
