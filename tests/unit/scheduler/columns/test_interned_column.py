"""InternedColumn: equal values, equal ids; what no row has is forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kubesched.scheduler.columns import ABSENT
from kubesched.scheduler.columns.interned_column import InternedColumn

ROWS = 6
writes = st.lists(st.tuples(st.integers(0, ROWS - 1), st.none() | st.text("abcdefgh", max_size=1)), max_size=60)


@given(writes)
def test_it_reads_like_a_list_of_values(changes: list[Any]) -> None:
    """Whatever came and went: each row has its value, and there are no more ids than values at the same time."""
    column: InternedColumn[str] = InternedColumn(ROWS)
    expected: list[str | None] = [None] * ROWS
    for row, value in changes:
        column.set(row, value)
        expected[row] = value
    assert [None if known == ABSENT else column.values[known] for known in column.ids.tolist()] == expected
    assert len(column) == len({value for value in expected if value is not None})
    assert len(column.values) <= ROWS + 1  # a row's new value comes before its old one goes


def test_each_value_is_judged_once() -> None:
    """However many rows have it; a row without a value gets 0."""
    column: InternedColumn[str] = InternedColumn(4)
    for row, value in enumerate(("a", "bb", "a")):
        column.set(row, value)
    asked: list[str] = []

    def judge(value: str) -> int:
        asked.append(value)
        return len(value)

    assert column.judged(judge, slice(0, 4)).tolist() == [1, 2, 1, 0]
    assert column.judged(judge, np.array([3, 1])).tolist() == [0, 2]
    assert asked == ["a", "bb"] * 2
