"""A column in which most rows are 0, as of an extended resource that a few nodes have."""

from __future__ import annotations

from typing import Final, overload

import numpy as np

from kubesched.scheduler.columns.types import Integers, Rows, grown

_SHARE: Final = 16
"""One row in so many may have an amount: an entry of a dictionary takes about as much memory as so many numbers."""

_FEW_ROWS: Final = 32


class SparseColumn:
    """Read and written like an array of integers. It takes memory for the rows that are not 0, not for the others.

    Once too many rows have an amount for that to pay, it is an array.
    """

    __slots__ = ("_amounts", "_array", "_capacity")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._amounts: dict[int, int] = {}
        self._array: Integers | None = None

    @overload
    def __getitem__(self, rows: int) -> int: ...
    @overload
    def __getitem__(self, rows: Rows) -> Integers: ...
    def __getitem__(self, rows: int | Rows) -> int | Integers:
        amounts, array = self._amounts, self._array
        if array is not None:
            found: Integers = array[rows]
            return int(found) if isinstance(rows, int) else found
        if isinstance(rows, int):
            return amounts.get(rows, 0)
        if isinstance(rows, np.ndarray) and len(rows) <= _FEW_ROWS:
            return np.array([amounts.get(row, 0) for row in rows.tolist()], dtype=np.int64)
        return self._spread_out()[rows]

    def item(self, row: int) -> int:
        return self[row]

    def __setitem__(self, row: int, amount: int) -> None:
        if self._array is not None:
            self._array[row] = amount
        elif amount:
            self._amounts[row] = amount
            if len(self._amounts) * _SHARE > self._capacity:
                self._array = self._spread_out()
                self._amounts = {}
        else:
            self._amounts.pop(row, None)

    def grow(self, capacity: int) -> None:
        if self._array is not None:
            self._array = grown(self._array, capacity, 0)
        self._capacity = capacity

    def _spread_out(self) -> Integers:
        array = np.zeros(self._capacity, dtype=np.int64)
        array[list(self._amounts)] = list(self._amounts.values())
        return array
