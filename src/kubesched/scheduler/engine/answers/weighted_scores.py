"""The weighted scores of some columns added up, row by row, and kept up to date."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched.scheduler.columns import Booleans, Integers, Positions
from kubesched.scheduler.engine.answers.score_column import ScoreColumn
from kubesched.scheduler.framework import CycleState, PodInfo


class WeightedScores:
    """The sum of the local scores: those that depend on their row alone. It has none until it is made.

    Columns in which all rows are equal count as one number, so that often there is no array at all.
    """

    __slots__ = ("_constants", "_is_made", "_uneven", "array", "constant", "revision")

    def __init__(self) -> None:
        self._is_made = False
        self._constants: list[ScoreColumn] = []
        self._uneven: list[ScoreColumn] = []
        self.constant = 0
        """What every row has."""
        self.array: Integers | None = None
        """Per row, the `constant` included; None if there is nothing but that."""
        self.revision = 0
        """Increases when any row may have changed, beyond those that were set."""

    def made(
        self, columns: Iterable[ScoreColumn], state: CycleState, pod: PodInfo, *, finds_constants: bool
    ) -> Integers | int:
        """Per row, or one number where it is the same everywhere. Don't write to it."""
        if not self._is_made:
            local = [column for column in columns if column.is_local]
            self._constants = [column for column in local if finds_constants and column.constant is not None]
            self._uneven = [column for column in local if column not in self._constants]
            self.constant = self._sum_of_constants(state, pod)
            self.array = self._sum_of_uneven(slice(None)) if self._uneven else None
            self._is_made = True
        return self.constant if self.array is None else self.array

    def at(self, row: int) -> int:
        """What the columns say about a row now."""
        weighted = self.constant
        for column in self._uneven:
            weighted += column.weight * column.raw.item(row)
        return weighted

    def settle(self, rows: Positions) -> Booleans | bool:
        """Take over what the columns say about these rows; at which of them it has changed."""
        if self.array is None:
            return False
        weighted = self._sum_of_uneven(rows)
        changed: Booleans = weighted != self.array[rows]
        self.array[rows] = weighted
        return changed

    def look_at_constants(self) -> None:
        """Rows have changed: forget the sum if a column is no longer the same everywhere."""
        if self._is_made and any(column.constant is None for column in self._constants):
            self.forget()

    def column_changed(self, column: ScoreColumn, state: CycleState, pod: PodInfo, *, was_constant: bool) -> None:
        """A column that is or was local has other scores: forget the sum, unless it remains what it was."""
        is_constant = was_constant and column.constant is not None
        if not is_constant or self.constant != self._sum_of_constants(state, pod):
            self.forget()

    def forget(self) -> None:
        self._is_made, self.array = False, None
        self.revision += 1

    def _sum_of_constants(self, state: CycleState, pod: PodInfo) -> int:
        return sum([column.weighted_constant(state, pod) for column in self._constants])

    def _sum_of_uneven(self, rows: Positions | slice) -> Integers:
        first, *others = self._uneven
        weighted = first.weighted(rows) + self.constant
        for column in others:
            weighted += column.weighted(rows)
        return weighted
