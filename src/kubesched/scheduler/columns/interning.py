"""Small dense ids for values that repeat."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """`id_of(value)` gives equal values the same id; `values[id]` gives the value back."""

    __slots__ = ("_ids", "values")

    def __init__(self) -> None:
        self._ids: dict[T, int] = {}
        self.values: list[T] = []

    def __len__(self) -> int:
        return len(self.values)

    def id_of(self, value: T) -> int:
        known = self._ids.get(value)
        if known is None:
            known = self._ids[value] = len(self.values)
            self.values.append(value)
        return known

    def get(self, value: T, default: int) -> int:
        """The id of a value that is known already."""
        return self._ids.get(value, default)
