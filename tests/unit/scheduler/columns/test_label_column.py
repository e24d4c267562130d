"""A label over all nodes: which values occur."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from kubesched.scheduler.columns import LabelColumn
from kubesched.scheduler.columns.types import ABSENT, Rows

EVERYWHERE = slice(0, 4)


def column_of(*values: str | None) -> LabelColumn:
    column = LabelColumn("zone", len(values), count())
    for row, value in enumerate(values):
        column.set(row, value)
    return column


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(EVERYWHERE, [True, True, True], id="all rows"),
        pytest.param(slice(0, 3), [True, True, False], id="the rows that have a value"),
        pytest.param(np.array([1, 3]), [False, True, True], id="some rows"),
        pytest.param(np.array([], dtype=np.intp), [False, False, False], id="no rows"),
    ],
)
def test_values_occur_where_rows_have_them(rows: Rows, expected: list[bool]) -> None:
    """The last entry answers for rows without a value; what was asked before does not matter."""
    column = column_of("a", "b", "a", None)
    column.occurring(EVERYWHERE)
    assert column.occurring(rows).tolist() == expected


def test_a_change_is_noticed() -> None:
    """What occurs among all rows is remembered until one of them changes."""
    column = column_of("a", "b", "a", "a")
    assert column.occurring(EVERYWHERE).tolist() == [True, True, False]
    column.set(1, "a")
    assert column.occurring(EVERYWHERE).tolist() == [True, False, False]


def test_rows_of_a_value_are_found_however_many_were_asked_for() -> None:
    """At first one by one, then by sorting; a change is noticed either way."""
    column = column_of(*[f"zone-{row % 30}" if row % 7 else None for row in range(100)])
    for _ in range(2):
        for domain in (*range(len(column.values)), ABSENT):
            assert column.rows_in(domain).tolist() == np.flatnonzero(column.domains == domain).tolist()
        column.set(3, "zone-40")
