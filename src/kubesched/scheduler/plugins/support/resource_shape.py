"""A scoring curve given by points: straight lines between them, flat outside (helper.BuildBrokenLinearFunction)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from kubesched.config.plugin_args import UtilizationShapePoint
from kubesched.scheduler.columns import Integers
from kubesched.scheduler.framework import MAX_SCORE

FULL: Final = 100
"""Per cent."""

_HIGHEST_POINT: Final = 10
_SCALE: Final = MAX_SCORE // _HIGHEST_POINT


def curve(shape: Sequence[UtilizationShapePoint]) -> Integers:
    """The score for each whole percentage 0..100."""
    return np.array([_score_at(percent, shape) for percent in range(FULL + 1)], dtype=np.int64)


def _score_at(percent: int, shape: Sequence[UtilizationShapePoint]) -> int:
    previous: UtilizationShapePoint | None = None
    for point in shape:
        if percent <= point.utilization:
            return _between(previous, point, percent) if previous else point.score * _SCALE
        previous = point
    return shape[-1].score * _SCALE


def _between(left: UtilizationShapePoint, right: UtilizationShapePoint, percent: int) -> int:
    rise = (right.score - left.score) * _SCALE * (percent - left.utilization)
    run = right.utilization - left.utilization
    # Go's division truncates toward zero, also on a falling line.
    step = abs(rise) // run
    return left.score * _SCALE + (step if rise >= 0 else -step)
