"""Equal nodes get equal answers: the answers of resource plugins, remembered by a node's resources.

Most plugins that look at the pods on a node see only sums: what is allocatable, what is requested. In a cluster of many
like nodes the same sums come up again and again, on one node after the other. A look into a dictionary then replaces
the asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import mul
from typing import Final

import msgspec

from kubesched.scheduler.columns import NodeTable
from kubesched.scheduler.columns.types import cells
from kubesched.scheduler.engine.filter_column import FilterColumn
from kubesched.scheduler.engine.score_column import ScoreColumn

_MOST_REMEMBERED: Final = 1 << 15


class Answer(msgspec.Struct, frozen=True, eq=False):
    """What the plugins said together: whether the row fits, its weighted points, and what stands in the columns."""

    fits: bool
    points: int
    entries: tuple[int, ...]


class RowMemo:
    """The answers of the plugins that see sums only, for one template and a fixed set of columns."""

    def __init__(
        self, table: NodeTable, filters: Mapping[str, FilterColumn], scores: Mapping[str, ScoreColumn]
    ) -> None:
        self._states = table.sums
        self._filters = len(filters)
        self._weights = [column.weight for column in scores.values()]
        columns: list[FilterColumn | ScoreColumn] = [*filters.values(), *scores.values()]
        self._arrays = [column.open_rows() for column in columns]
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
        if len(self._answers) >= _MOST_REMEMBERED:
            self._answers.clear()
        for row in rows:
            entries = tuple([array.item(row) for array in self._arrays])
            fits = not any(entries[: self._filters])
            points = sum(map(mul, self._weights, entries[self._filters :]))
            self._answers[self._states.of(row)] = Answer(fits, points, entries)
