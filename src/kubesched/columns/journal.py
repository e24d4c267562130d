"""Which rows (or keys) changed, in order, so that whoever keeps derived data asks only about those."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

T = TypeVar("T")

DEFAULT_LIMIT: Final = 1 << 16


class Journal(Generic[T]):
    """An append-only list of changed rows with a bounded memory.

    A reader remembers `position` and later asks `since(position)`: the rows changed in between (with repeats), or
    None when that is too long ago and everything must be looked at again.
    """

    __slots__ = ("_first", "_limit", "_rows")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._rows: list[T] = []
        self._first = 0
        self._limit = limit

    @property
    def position(self) -> int:
        return self._first + len(self._rows)

    def append(self, row: T) -> None:
        rows = self._rows
        rows.append(row)
        if len(rows) > self._limit:
            forgotten = self._limit // 2
            del rows[:forgotten]
            self._first += forgotten

    def since(self, position: int) -> list[T] | None:
        if position < self._first:
            return None
        return self._rows[position - self._first :]


class JournalReader(Generic[T]):
    """Remembers how far it has read. What was written before its first reading counts as too long ago."""

    __slots__ = ("_journal", "_position")

    def __init__(self, journal: Journal[T]) -> None:
        self._journal = journal
        self._position = -1

    def news(self) -> list[T] | None:
        """What changed since the last call, with repeats; None if everything must be looked at again."""
        journal, seen = self._journal, self._position
        self._position = position = journal.position
        return [] if position == seen else journal.since(seen)
