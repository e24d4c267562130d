"""One label key over all nodes: an interned value id per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from kubesched.scheduler.columns.interned_column import InternedColumn
from kubesched.scheduler.columns.types import ABSENT, Booleans, Ids, Integers, Positions, Rows

_WORTH_SORTING: Final = 16
_NOT_AN_INTEGER = np.iinfo(np.int64).min


class LabelColumn(InternedColumn[str]):
    """`ids[row]` is the id of the row's value, or ABSENT. Ids are dense from 0, so they serve as topology domains.

    `version` changes with any entry, and no two columns of a table ever have the same: what was derived from the
    column (domain sums) is stale then. An id may stand for another value then, too.
    """

    __slots__ = (
        "__weakref__",
        "_domains",
        "_integers",
        "_occurring",
        "_rows_in",
        "_sorted",
        "_versions",
        "key",
        "version",
    )

    def __init__(self, key: str, capacity: int, versions: Iterator[int]) -> None:
        super().__init__(capacity)
        self.key = key
        self._versions = versions
        self.version = next(versions)
        self._domains: Positions | None = None
        self._occurring: tuple[slice, Booleans] | None = None  # for all rows, if somebody asked
        self._rows_in: dict[int, Positions] = {}
        self._sorted: tuple[Positions, Positions] | None = None  # rows by domain, and where each domain's begin
        self._integers: Integers = np.empty(0, dtype=np.int64)

    @property
    def domains(self) -> Positions:
        """`ids`, ready to be used as an index (NumPy is three times as fast with its own index type)."""
        if self._domains is None:
            self._domains = self.ids.astype(np.intp)
        return self._domains

    def grow(self, capacity: int) -> None:
        super().grow(capacity)
        self._domains = None
        self._occurring = None
        self._rows_in = {}
        self._sorted = None

    def set(self, row: int, value: str | None) -> None:
        super().set(row, value)
        known = self.ids.item(row)
        if self._domains is not None:
            self._domains[row] = known
        if value is not None and known < len(self._integers):
            self._integers[known] = _as_integer(value)
        self.version = next(self._versions)
        self._occurring = None
        if self._rows_in:
            self._rows_in = {}
            self._sorted = None

    def id_of(self, value: str) -> int:
        """The id of a value, or one that no row has."""
        return self._id_of.get(value, ABSENT - 1)

    def occurring(self, rows: Rows) -> Booleans:
        """Per id: whether one of these rows has it; the last entry says whether one has none. Don't write to it."""
        known = self._occurring
        if known is not None and isinstance(rows, slice) and rows == known[0]:
            return known[1]
        occurs = np.zeros(len(self.values) + 1, dtype=np.bool_)
        occurs[self.domains[rows]] = True
        if isinstance(rows, slice):
            self._occurring = (rows, occurs)
        return occurs

    def rows_in(self, domain: int) -> Positions:
        """The rows that have the value with this id. Don't write to it."""
        rows = self._rows_in.get(domain)
        if rows is None:
            rows = self._rows_in[domain] = self._find(domain)
        return rows

    def _find(self, domain: int) -> Positions:
        """By a pass over all rows; once that was done for many domains, by sorting them."""
        if self._sorted is None:
            if len(self._rows_in) < _WORTH_SORTING:
                return np.flatnonzero(self.domains == domain)
            order = np.argsort(self.domains, kind="stable")
            self._sorted = order, np.searchsorted(self.domains[order], np.arange(ABSENT, len(self.values) + 1))
        order, starts = self._sorted
        return order[starts[domain - ABSENT] : starts[domain - ABSENT + 1]]

    def present(self, rows: Rows) -> Booleans:
        ids: Ids = self.ids[rows]
        present: Booleans = ids != ABSENT
        return present

    def is_in(self, values: Iterable[str], rows: Rows) -> Booleans:
        """Rows whose value is one of `values`."""
        wanted = [known for value in values if (known := self._id_of.get(value)) is not None]
        ids: Ids = self.ids[rows]
        if not wanted:
            return np.zeros(len(ids), dtype=np.bool_)
        if len(wanted) == 1:
            matching: Booleans = ids == wanted[0]
            return matching
        chosen = np.zeros(len(self.values) + 1, dtype=np.bool_)  # the last entry answers for ABSENT (-1)
        chosen[wanted] = True
        return chosen[ids]

    def integers(self) -> tuple[Integers, Booleans]:
        """Per value id: its integer, and whether it is one (as Go's ParseInt base 10 sees it)."""
        if len(self._integers) < len(self.values):
            fresh = [_as_integer(value) for value in self.values[len(self._integers) :]]
            self._integers = np.concatenate([self._integers, np.array(fresh, dtype=np.int64)])
        return self._integers, self._integers != _NOT_AN_INTEGER


def _as_integer(text: str) -> int:
    digits = text[1:] if text[:1] in "+-" else text
    if not (digits.isascii() and digits.isdigit()):
        return _NOT_AN_INTEGER
    number = int(text)
    return number if -(1 << 63) < number < (1 << 63) else _NOT_AN_INTEGER
