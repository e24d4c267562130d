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

    __slots__ = ("_full_at", "_limit", "_rows", "position")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._rows: list[T] = []
        self._limit = limit
        self._full_at = limit
        self.position = 0
        """How many were appended so far."""

    def append(self, row: T) -> None:
        self._rows.append(row)
        self.position += 1
        if self.position > self._full_at:
            forgotten = self._limit // 2
            del self._rows[:forgotten]
            self._full_at += forgotten

    def since(self, position: int) -> list[T] | None:
        first = self.position - len(self._rows)
        return self._rows[position - first :] if position >= first else None


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
