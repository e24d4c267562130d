"""Equal nodes get equal answers: the answers of resource plugins, remembered by the state of a node's resources.

Most plugins that look at the pods on a node see only sums: what is allocatable, what is requested. In a cluster of many
like nodes the same sums come up again and again, on one node after the other. A look into a dictionary then replaces
the asking.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import mul
from typing import Final

import msgspec

from kubesched.scheduler.columns import NodeTable
from kubesched.scheduler.columns.types import cells
from kubesched.scheduler.engine.answers.filter_column import FilterColumn
from kubesched.scheduler.engine.answers.score_column import ScoreColumn

_MOST_PER_ROW: Final = 2
_FEWEST: Final = 1 << 8
"""So many states are remembered in any case: a small cluster sees many states, too."""


class Answer(msgspec.Struct, frozen=True, eq=False, gc=False):
    """What the plugins said together: whether the row fits, its weighted score, and what stands in the columns."""

    fits: bool
    weighted: int
    entries: tuple[int, ...]


class ResourceMemo:
    """The answers of plugins that see resource sums only, for one template and a fixed set of columns."""

    def __init__(self, table: NodeTable, filters: Iterable[FilterColumn], scores: Iterable[ScoreColumn]) -> None:
        self._states = table.sums
        self._most = max(_FEWEST, _MOST_PER_ROW * table.capacity)
        bits, raw = [column.open_rows() for column in filters], [column.open_rows() for column in scores]
        self._filters = len(bits)
        self._weights = [column.weight for column in scores]
        self._arrays = [*bits, *raw]
        self._cells = [cells(array) for array in self._arrays]
        self._answers: dict[int, Answer] = {}

    def recall(self, row: int) -> Answer | None:
        """Write what is known about a row into the columns; None if the plugins must be asked."""
        answer = self._answers.get(self._states.of(row))
        if answer is not None:
            for column, entry in zip(self._cells, answer.entries, strict=True):
                column[row] = entry
        return answer

    def recall_all(self, rows: list[int]) -> list[int]:
        """As `recall`, for many rows at once: those to ask the plugins about. If there are any, nothing is written."""
        answers, state_of = self._answers, self._states.of
        states = [state_of(row) for row in rows]
        unknown = [row for row, state in zip(rows, states, strict=True) if state not in answers]
        if not unknown:
            entries = [answers[state].entries for state in states]
            for array, column in zip(self._arrays, zip(*entries, strict=True), strict=True):
                array[rows] = column
        return unknown

    def learn(self, rows: list[int]) -> None:
        """The columns are right at these rows: remember that."""
        if len(self._answers) >= self._most:
            self._answers.clear()
        for row in rows:
            entries = tuple([array.item(row) for array in self._arrays])
            fits = not any(entries[: self._filters])
            weighted = sum(map(mul, self._weights, entries[self._filters :]))
            self._answers[self._states.of(row)] = Answer(fits, weighted, entries)
