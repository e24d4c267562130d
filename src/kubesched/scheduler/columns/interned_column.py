"""A value per row, as a small id: for values that repeat over rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np

from kubesched.scheduler.columns.types import ABSENT, Ids, Integers, Rows, grown

T = TypeVar("T", bound=Hashable)


class InternedColumn(Generic[T]):
    """`ids[row]` is the id of the row's value, or ABSENT; `values[id]` is the value.

    Once no row has a value any more, it is forgotten and its id is given to the next new one: there are never more ids
    than values were there at the same time. `values[id]` means nothing while no row has the id.
    """

    __slots__ = ("_free", "_id_of", "_users", "ids", "values")

    def __init__(self, capacity: int) -> None:
        self.ids: Ids = np.full(capacity, ABSENT, dtype=np.int32)
        self.values: list[T] = []
        self._id_of: dict[T, int] = {}
        self._users: list[int] = []  # by id: how many rows have it
        self._free: list[int] = []

    def __len__(self) -> int:
        """How many different values rows have."""
        return len(self._id_of)

    def grow(self, capacity: int) -> None:
        self.ids = grown(self.ids, capacity, ABSENT)

    def set(self, row: int, value: T | None) -> None:
        before = self.ids.item(row)
        self.ids[row] = ABSENT if value is None else self._take(value)
        if before != ABSENT:
            self._give_back(before)

    def judged(self, judge: Callable[[T], int], rows: Rows) -> Integers:
        """`judge` of each row's value, 0 where there is none; called once per value."""
        answers = [*map(judge, self.values), 0]  # the last entry answers for ABSENT (-1)
        return np.array(answers, dtype=np.int64)[self.ids[rows]]

    def _take(self, value: T) -> int:
        known = self._id_of.get(value)
        if known is None:
            known = self._id_of[value] = self._free_id(value)
        self._users[known] += 1
        return known

    def _free_id(self, value: T) -> int:
        if self._free:
            known = self._free.pop()
            self.values[known] = value
            return known
        self.values.append(value)
        self._users.append(0)
        return len(self.values) - 1

    def _give_back(self, known: int) -> None:
        self._users[known] -= 1
        if not self._users[known]:
            del self._id_of[self.values[known]]
            self._free.append(known)
