"""Scores as whole numbers."""

from __future__ import annotations

import math

import numpy as np

from kubesched.framework import Floats, Integers


def rounded(values: Floats) -> Integers:
    """Halves away from zero, as Go's math.Round does; numpy rounds them to the even number."""
    whole = np.trunc(values)
    return (whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0.0)).astype(np.int64)


def rounded_one(value: float) -> int:
    """The same of a plain number, which is several times faster."""
    whole = int(value)
    return whole + int(math.copysign(1, value)) if abs(value - whole) >= 0.5 else whole
