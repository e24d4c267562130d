"""Picking one of the best nodes: block maxima, so that the cost does not grow with the number of nodes."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np
import numpy.typing as npt

from kubesched.columns import Integers

BLOCK: Final = 1024
INFEASIBLE: Final = -1
"""The total of a row that does not take the pod: below every real total."""


class BlockMaxima:
    """The totals of all rows, with the maximum of each block of rows and how many rows of the block have it."""

    __slots__ = ("_maxima", "_ties", "totals")

    def __init__(self, totals: Integers) -> None:
        self.totals = totals
        blocks = -(-len(totals) // BLOCK)
        self._maxima: Integers = np.full(blocks, INFEASIBLE, dtype=np.int64)
        self._ties: Integers = np.zeros(blocks, dtype=np.int64)
        self.refresh_all()

    def refresh_all(self) -> None:
        whole = len(self.totals) // BLOCK * BLOCK
        blocks = self.totals[:whole].reshape(-1, BLOCK)
        if whole:
            self._maxima[: len(blocks)] = blocks.max(axis=1)
            self._ties[: len(blocks)] = (blocks == self._maxima[: len(blocks), None]).sum(axis=1)
        if whole < len(self.totals):
            self._refresh(len(blocks))

    def refresh_rows(self, rows: npt.NDArray[np.intp]) -> None:
        """The totals of these rows have changed."""
        for block in {row // BLOCK for row in rows.tolist()}:
            self._refresh(block)

    def best(self, random: Random) -> int:
        """A row with the highest total, each with the same probability; -1 if every row is infeasible."""
        highest = self._maxima.max(initial=INFEASIBLE)
        if highest <= INFEASIBLE:
            return -1
        blocks = np.flatnonzero(self._maxima == highest)
        ahead = np.cumsum(self._ties[blocks])
        chosen = random.randrange(int(ahead[-1]))
        at = int(np.searchsorted(ahead, chosen, side="right"))
        skipped = chosen - (int(ahead[at - 1]) if at else 0)
        start = int(blocks[at]) * BLOCK
        return start + int(np.flatnonzero(self.totals[start : start + BLOCK] == highest)[skipped])

    def _refresh(self, block: int) -> None:
        part = self.totals[block * BLOCK : (block + 1) * BLOCK]
        highest = part.max()
        self._maxima[block] = highest
        self._ties[block] = np.count_nonzero(part == highest)


def best_of(totals: Integers, random: Random) -> int:
    """A position with the highest total, each with the same probability."""
    best = np.flatnonzero(totals == totals.max())
    return int(best[random.randrange(len(best))])
