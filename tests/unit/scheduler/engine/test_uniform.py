"""Columns in which all rows are equal."""

from __future__ import annotations

from kubesched.scheduler.engine.answers.uniform import uniform, writable


def test_a_uniform_column_is_read_like_any_other() -> None:
    """Entry by entry, in parts, and compared."""
    column = uniform(7, 4)
    assert column.tolist() == [7, 7, 7, 7]
    assert column[1:3].tolist() == [7, 7]
    assert (column == 7).all()


def test_writing_needs_a_copy() -> None:
    """Others may hold the same column; one that is writable already stays what it is."""
    column = uniform(7, 4)
    mine = writable(column)
    mine[2] = 1
    assert uniform(7, 4).tolist() == [7, 7, 7, 7]
    assert writable(mine) is mine
