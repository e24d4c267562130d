"""Columns in which all rows are equal: they take no memory, and are read like any other."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kubesched.scheduler.columns import Integers, Positions


@lru_cache(maxsize=256)
def uniform(value: int, length: int) -> Integers:
    """The same number in every row; `writable` gives a column that can be changed."""
    column: Integers = np.ndarray((length,), np.int64, np.array([value], dtype=np.int64), strides=(0,))
    column.flags.writeable = False
    return column


@lru_cache(maxsize=8)
def every_row(number: int) -> Positions:
    """The rows of a table with so many, one array for all who ask. Don't write to it."""
    rows = np.arange(number)
    rows.flags.writeable = False
    return rows


def writable(column: Integers) -> Integers:
    """The column itself, or a copy if it is uniform."""
    return column if column.flags.writeable else column.copy()
