"""Division as Go's, in whatever way it is done."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kubesched.scheduler.plugins.support.amounts import quotient

INT64_MAX = (1 << 63) - 1
DIVISORS = st.integers(1, INT64_MAX) | st.integers(1, 1 << 40)


@st.composite
def divisions(draw: st.DrawFn) -> tuple[int, int]:
    """Mostly close to a whole quotient: there a rounded one would show."""
    divisor = draw(DIVISORS)
    close = divisor * draw(st.integers(0, 100)) + draw(st.integers(-1, 1))
    value = draw(st.sampled_from([close, -close]) | st.integers(-INT64_MAX, INT64_MAX) | st.integers(0, 1 << 53))
    return min(max(value, -INT64_MAX), INT64_MAX), divisor


@given(st.lists(divisions(), min_size=1, max_size=20))
def test_a_quotient_of_columns_truncates_toward_zero(pairs: list[tuple[int, int]]) -> None:
    """Whether the numbers are small enough for floats or not."""
    values, divisors = (np.array(numbers, dtype=np.int64) for numbers in zip(*pairs, strict=True))
    expected = [abs(value) // divisor * (1 if value >= 0 else -1) for value, divisor in pairs]
    assert np.array_equal(quotient(values.copy(), divisors), expected)
    for k, quotient_alone in enumerate(expected):
        assert np.array_equal(quotient(values[k : k + 1].copy(), divisors[k : k + 1]), [quotient_alone])
