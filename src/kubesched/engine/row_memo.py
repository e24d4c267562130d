"""Equal nodes get equal answers: the answers of resource plugins, remembered by a node's resources.

Most plugins that look at the pods on a node see only sums: what is allocatable, what is requested. In a cluster of many
like nodes the same sums come up again and again, on one node after the other. A look into a dictionary then replaces
the asking.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.columns import Integers, NodeTable
from kubesched.engine.tracker import RowArray

_MOST_REMEMBERED: Final = 1 << 15


class RowMemo:
    """Fills `arrays` (bits of filters, raw scores) at rows whose resources were seen before."""

    def __init__(self, table: NodeTable, arrays: list[Integers]) -> None:
        self._table = table
        self._arrays = arrays
        self._answers: dict[tuple[int, ...], tuple[int, ...]] = {}

    def fill(self, rows: list[int]) -> list[int]:
        """Write what is known; returns the rows that must be asked about."""
        unknown: list[int] = []
        resources_of = self._table.resources_of
        for row in rows:
            answer = self._answers.get(resources_of(row))
            if answer is None:
                unknown.append(row)
            else:
                for array, value in zip(self._arrays, answer, strict=True):
                    array[row] = value
        return unknown

    def learn(self, rows: list[int]) -> None:
        """The arrays are right at these rows: remember that."""
        if len(self._answers) >= _MOST_REMEMBERED:
            self._answers.clear()
        resources_of = self._table.resources_of
        for row in rows:
            self._answers[resources_of(row)] = tuple(int(array[row]) for array in self._arrays)


def as_rows(rows: list[int]) -> RowArray:
    return np.array(rows, dtype=np.intp)
