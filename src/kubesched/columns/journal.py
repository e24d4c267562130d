"""Which rows changed, in order, so that whoever keeps derived data asks only about those."""

from __future__ import annotations

from typing import Final

DEFAULT_LIMIT: Final = 1 << 16


class Journal:
    """An append-only list of changed rows with a bounded memory.

    A reader remembers `position` and later asks `since(position)`: the rows changed in between (with repeats), or
    None when that is too long ago and everything must be looked at again.
    """

    __slots__ = ("_first", "_limit", "_rows")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._rows: list[int] = []
        self._first = 0
        self._limit = limit

    @property
    def position(self) -> int:
        return self._first + len(self._rows)

    def append(self, row: int) -> None:
        rows = self._rows
        rows.append(row)
        if len(rows) > self._limit:
            forgotten = self._limit // 2
            del rows[:forgotten]
            self._first += forgotten

    def since(self, position: int) -> list[int] | None:
        if position < self._first:
            return None
        return self._rows[position - self._first :]
