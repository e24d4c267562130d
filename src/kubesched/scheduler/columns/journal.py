"""Which rows (or keys) changed, in order: whoever keeps something derived from them follows, and renews only that.

follower = Follower(table.pod_changes)
match follower.changed():
    case []            nothing has changed since the last call
    case [row, ...]    these rows have, with repeats
    case EVERYTHING    any may have: it is the first call, or the last one was too long ago
"""

from __future__ import annotations

import enum
from typing import Final, Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")

DEFAULT_LIMIT: Final = 1 << 16

FEW_ROWS: Final = 8
"""So many changed rows are looked at one by one; for more, array operations are faster."""


class _Everything(enum.Enum):
    EVERYTHING = enum.auto()


EVERYTHING: Final = _Everything.EVERYTHING
"""What has changed, when that cannot be narrowed down."""

Everything: TypeAlias = Literal[_Everything.EVERYTHING]


class Journal(Generic[T]):
    """An append-only list of changed rows with a bounded memory. Follow it with a `Follower`.

    As long as `position` stays the same, nothing has changed: it may serve as a version.
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

    def since(self, position: int) -> list[T] | Everything:
        """The rows changed after a position, with repeats; EVERYTHING when that is too long ago."""
        first = self.position - len(self._rows)
        return self._rows[position - first :] if position >= first else EVERYTHING


class Follower(Generic[T]):
    """Reads a journal on from where it was. What was written before its first reading is EVERYTHING."""

    __slots__ = ("_journal", "_position")

    def __init__(self, journal: Journal[T]) -> None:
        self._journal = journal
        self._position = -1

    @property
    def is_current(self) -> bool:
        """Whether `changed` would say that nothing has."""
        return self._position == self._journal.position

    def changed(self) -> list[T] | Everything:
        """What changed since the last call."""
        journal, seen = self._journal, self._position
        if seen == journal.position:
            return []
        self._position = journal.position
        return journal.since(seen)

    def skip(self) -> None:
        """What changed so far is known already."""
        self._position = self._journal.position


def either(one: list[T] | Everything, other: list[T] | Everything) -> list[T] | Everything:
    """What changed according to two followers."""
    return EVERYTHING if one is EVERYTHING or other is EVERYTHING else one + other
