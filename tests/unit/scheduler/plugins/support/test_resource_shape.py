from __future__ import annotations

import pytest

from kubesched.config.plugin_args import UtilizationShapePoint
from kubesched.scheduler.plugins.support.resource_shape import curve


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        pytest.param([(0, 0), (100, 10)], {0: 0, 33: 33, 100: 100}, id="a rising line"),
        pytest.param([(0, 10), (100, 0)], {0: 100, 33: 67, 100: 0}, id="a falling line"),
        pytest.param([(0, 10), (70, 0)], {1: 99, 69: 2, 71: 0}, id="a falling line is cut off toward its start"),
        pytest.param([(30, 2), (60, 8)], {0: 20, 30: 20, 40: 40, 60: 80, 100: 80}, id="flat before and after"),
        pytest.param([(50, 7)], {0: 70, 50: 70, 100: 70}, id="a single point"),
    ],
)
def test_curve(points: list[tuple[int, int]], expected: dict[int, int]) -> None:
    """Straight lines between the points, in integers, scaled from 0..10 to 0..100."""
    scores = curve([UtilizationShapePoint(utilization=x, score=y) for x, y in points])
    assert len(scores) == 101
    assert {percent: int(scores[percent]) for percent in expected} == expected
