"""The arithmetic of Trimaran: shortcuts for single numbers say what the long way says."""

from __future__ import annotations

import numpy as np
import pytest

from kubesched.contrib.trimaran.beta_distribution import Beta
from kubesched.contrib.trimaran.rounding import rounded, rounded_one


@pytest.mark.parametrize("value", [0.0, 0.49999999999999994, 0.5, 1.5, 2.5, 99.5, 100.0, -0.5, -2.5, -2.4])
def test_a_single_number_is_rounded_as_an_array_is(value: float) -> None:
    assert rounded_one(value) == rounded(np.array([value]))[0]


@pytest.mark.parametrize("share", [0.0, 1e-300, 1e-9, 0.01, 0.5, 0.999, 1.0])
@pytest.mark.parametrize(("mean", "deviation"), [(0.2, 0.1), (0.5, 0.001), (0.9, 0.02)])
def test_a_share_is_reached_where_its_probability_is_not_zero(mean: float, deviation: float, share: float) -> None:
    distribution = Beta.with_moments(mean, deviation)
    assert distribution is not None
    assert distribution.reaches(share) is (distribution.at_most(share) > 0)


def test_half_of_a_symmetric_distribution_lies_below_its_mean() -> None:
    distribution = Beta.with_moments(0.5, 0.1)
    assert distribution is not None
    assert distribution.at_most(0.5) == pytest.approx(0.5, abs=1e-12)
