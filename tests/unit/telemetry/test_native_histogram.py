"""Native histograms, as client_golang v1.23 makes them with factor 1.1 and at most 160 buckets."""

from __future__ import annotations

import pytest

from kubesched.telemetry.native_histogram import SparseCounts, bucket_of


@pytest.mark.parametrize(
    ("values", "zero_count", "spans", "deltas"),
    [
        pytest.param([], 0, [], [], id="nothing observed"),
        pytest.param(
            [0, 0.001, 0.0011, 0.002, 0.002, 0.5, 1, 1, 1, 3, 100, 1e6],
            1,
            [(-79, 2), (6, 1), (62, 1), (7, 1), (12, 1), (40, 1), (105, 1)],
            [1, 0, 1, -1, 2, -2, 0, 0],
            id="spans where something is, and a zero",
        ),
        pytest.param(
            [1, 1.2, 1.5, 2, 1.0001, 8],
            0,
            [(0, 9), (15, 1)],
            [1, 0, -1, 1, -1, 1, -1, 0, 1, 0],
            id="short gaps are written out",
        ),
    ],
)
def test_buckets(values: list[float], zero_count: int, spans: list[tuple[int, int]], deltas: list[int]) -> None:
    """The expectations were printed by Go's library."""
    counts = SparseCounts()
    for value in values:
        counts.observe(value)
    shown = counts.shown(counts.counts.items())
    assert (shown.schema, shown.zero_count, shown.spans, shown.deltas) == (3, zero_count, spans, deltas)


def test_too_many_buckets_are_joined() -> None:
    """Twice as wide, as often as necessary; nothing is lost."""
    counts = SparseCounts()
    for step in range(400):
        counts.observe(1.07**step / 1e6)
    shown = counts.shown(counts.counts.items())
    assert shown.schema == 2
    assert shown.deltas[:8] == [2, 1, -1, 1, 0, -1, 1, -1]
    assert sum(counts.counts.values()) == 400


@pytest.mark.parametrize("schema", range(-2, 5))
def test_a_bucket_ends_at_its_power(schema: int) -> None:
    """Its end belongs to it."""
    for number in range(-20, 20):
        end = 2 ** (number * 2.0**-schema)
        if 1e-30 < end < 1e30:
            assert bucket_of(end * 0.999999, schema) == number
            assert bucket_of(end * 1.000001, schema) == number + 1
