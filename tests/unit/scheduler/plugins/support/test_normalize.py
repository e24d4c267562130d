from __future__ import annotations

import numpy as np
import pytest

from kubesched.scheduler.plugins.support.normalize import in_proportion


@pytest.mark.parametrize(
    ("raw", "reverse", "expected"),
    [
        pytest.param([1, 2, 3], False, [33, 66, 100], id="the highest becomes 100, fractions are cut off"),
        pytest.param([1, 2, 3], True, [67, 34, 0], id="reversed, the highest becomes 0"),
        pytest.param([0, 0], False, [0, 0], id="all zero stays zero"),
        pytest.param([0, 0], True, [100, 100], id="all zero is best where less is better"),
        pytest.param([], False, [], id="no node"),
        pytest.param([], True, [], id="no node, reversed"),
    ],
)
def test_in_proportion(raw: list[int], reverse: bool, expected: list[int]) -> None:
    """Scores are scaled by the highest one."""
    assert in_proportion(np.array(raw, dtype=np.int64), reverse=reverse).tolist() == expected
