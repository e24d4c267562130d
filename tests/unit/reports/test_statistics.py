"""Means with their confidence, against figures from tables of Student's t and from counting by hand."""

from __future__ import annotations

from random import Random

import pytest

from kubesched.reports.statistics import interval, paired_difference, student_t


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (4, 2.776), (10, 2.228), (11, 2.2010), (20, 2.0860), (100, 1.9840)]
)
def test_students_t(freedom: int, quantile: float) -> None:
    """From the table, and from the expansion beyond it."""
    assert student_t(freedom) == pytest.approx(quantile, abs=5e-4)


def test_an_interval() -> None:
    """Five values: t with four degrees of freedom, times the standard error."""
    found = interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.half_width == pytest.approx(2.776 * 1.5811 / 5**0.5, abs=1e-3)
    assert interval([7.0]).low is None


def test_intervals_hold_the_true_mean_nineteen_times_out_of_twenty() -> None:
    """Of samples whose mean is known."""
    random = Random(5)
    inside = 0
    for _ in range(1000):
        found = interval([random.gauss(10.0, 3.0) for _ in range(6)])
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 10.0 <= found.high
    assert 930 <= inside <= 970


@pytest.mark.parametrize(
    ("pairs", "probability"),
    [
        pytest.param([(1.0, 2.0)] * 6, 2 / 64, id="six of six go the same way"),
        pytest.param([(1.0, 2.0)] * 5, 2 / 32, id="five are too few"),
        pytest.param([(1.0, 2.0), (2.0, 1.0)], 1.0, id="one each way"),
        pytest.param([(1.0, 1.0)] * 4, 1.0, id="no difference"),
        pytest.param([(1.0, 2.0)], None, id="one pair"),
    ],
)
def test_pairs_are_swapped(pairs: list[tuple[float, float]], probability: float | None) -> None:
    """The share of all ways to swap them that differ as much."""
    assert paired_difference(pairs).probability == probability


def test_many_pairs_are_swapped_at_random_and_the_same_every_time() -> None:
    """Never 0: what was seen is one of the ways."""
    pairs = [(float(number), number + 1.0) for number in range(20)]
    first = paired_difference(pairs)
    assert first == paired_difference(pairs)
    assert first.probability == pytest.approx(1 / 20_001)
    assert first.is_more_than_chance
