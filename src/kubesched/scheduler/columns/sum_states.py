"""What a node offers and what is taken of it, as one small number: equal for nodes that are alike in that.

Reading the sums of a row out of a dozen arrays at every change would cost more than most answers that depend on them.
But the sums change in steps, and steps repeat: a pod of the same size on a node in the same state leads to the same
state again. So the steps are remembered.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

_UNKNOWN: Final = -1
_MOST_REMEMBERED: Final = 1 << 18
_FEWEST_ROWS: Final = 1 << 10
_SHARE: Final = 16
_NUMBERS_PER_ROW: Final = 8


class Alike(NamedTuple):
    """Rows that stand for all others: `rows[kind[i]]` is in the same state as row i."""

    rows: npt.NDArray[np.intp]
    kind: npt.NDArray[np.intp]


class SumStates:
    """State numbers by row. `read` gives all that a state stands for, from the tables."""

    def __init__(self, read: Callable[[int], tuple[int, ...]]) -> None:
        self._read = read
        self._number: dict[tuple[int, ...], int] = {}
        self._steps: dict[tuple[int, int], int] = {}
        self._of_row = array("q")
        self._next = 0
        self._changes = 0
        self._alike: Alike | None = None
        self._alike_until = -1  # the answer holds for so many changes

    def of(self, row: int) -> int:
        """The row's state; numbers are never used twice for different states."""
        states = self._of_row
        if row >= len(states):
            states.extend([_UNKNOWN] * (row + 1 - len(states)))
        state = states[row]
        if state == _UNKNOWN:
            state = states[row] = self._look(row)
        return state

    def step(self, row: int, size: int) -> None:
        """A pod of a size (its number, negative if the pod left) has changed the row's sums."""
        states = self._of_row
        if row >= len(states) or (state := states[row]) == _UNKNOWN:
            return
        after = self._steps.get((state, size))
        if after is None:
            if len(self._steps) >= _MOST_REMEMBERED:
                self._steps.clear()
            after = self._steps[state, size] = self._look(row)
        states[row] = after
        self._changes += 1

    def node_changed(self, row: int) -> None:
        """The node itself has changed: any state may follow."""
        states = self._of_row
        if row >= len(states):
            states.extend([_UNKNOWN] * (row + 1 - len(states)))
        states[row] = self._look(row)
        self._changes += 1

    def alike(self, rows: int) -> Alike | None:
        """One row per state, for the first so many rows; None if too few of them are alike for that to pay.

        Several plugins ask in a row. Where the answer was None, a good part of the rows must change to try again.
        """
        if not _FEWEST_ROWS <= rows <= len(self._of_row):
            return None
        if self._changes > self._alike_until or (self._alike is not None and len(self._alike.kind) != rows):
            self._alike = self._find_alike(rows)
            self._alike_until = self._changes + (rows // _SHARE if self._alike is None else 0)
        return self._alike

    def _find_alike(self, rows: int) -> Alike | None:
        states = np.frombuffer(self._of_row, dtype=np.int64)[:rows]
        highest = int(states.max())
        if states.min() < 0 or highest >= _NUMBERS_PER_ROW * rows:
            return None  # numbers only grow: after a long time a table of them would cost more than it saves
        example = np.full(highest + 1, _UNKNOWN, dtype=np.intp)
        example[states] = np.arange(rows)
        present = np.flatnonzero(example >= 0)
        if len(present) * _SHARE > rows:
            return None
        kind_of_state = np.empty(len(example), dtype=np.intp)
        kind_of_state[present] = np.arange(len(present))
        return Alike(example[present], kind_of_state[states])

    def _look(self, row: int) -> int:
        key = self._read(row)
        state = self._number.get(key)
        if state is None:
            if len(self._number) >= _MOST_REMEMBERED:
                self._number.clear()
            state = self._number[key] = self._next
            self._next += 1
        return state
