"""Picking one of the best nodes: block maxima, so that the cost does not grow with the number of nodes."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np

from kubesched.columns import Integers

BLOCK: Final = 1024
INFEASIBLE: Final = -1
"""The total of a row that does not take the pod: below every real total."""


class BlockMaxima:
    """The totals of all rows, with the maximum of each block of rows and how many rows of the block have it."""

    __slots__ = ("_maxima", "_ties", "_totals")

    def __init__(self, totals: Integers) -> None:
        self._totals = totals
        blocks = -(-len(totals) // BLOCK)
        self._maxima: Integers = np.full(blocks, INFEASIBLE, dtype=np.int64)
        self._ties: Integers = np.zeros(blocks, dtype=np.int64)
        for block in range(blocks):
            self._count(block)

    @property
    def totals(self) -> Integers:
        """By row. Change them with `set` only."""
        return self._totals

    def set(self, row: int, total: int) -> None:
        """A row's total has changed; its block is counted again only if that cannot be avoided."""
        before = self._totals[row]
        if before == total:
            return
        self._totals[row] = total
        block = row // BLOCK
        highest = self._maxima[block]
        if total > highest:
            self._maxima[block], self._ties[block] = total, 1
        elif total == highest:
            self._ties[block] += 1
        elif before == highest:
            if self._ties[block] > 1:
                self._ties[block] -= 1
            else:
                self._count(block)

    def best(self, random: Random) -> int:
        """A row with the highest total, each with the same probability; -1 if every row is infeasible."""
        maxima = self._maxima
        highest = maxima.max(initial=INFEASIBLE)
        if highest <= INFEASIBLE:
            return -1
        blocks = np.flatnonzero(maxima == highest)
        ahead = np.cumsum(self._ties[blocks])
        chosen = random.randrange(int(ahead[-1]))
        at = int(np.searchsorted(ahead, chosen, side="right"))
        skipped = chosen - (int(ahead[at - 1]) if at else 0)
        start = int(blocks[at]) * BLOCK
        return start + int(np.flatnonzero(self._totals[start : start + BLOCK] == highest)[skipped])

    def _count(self, block: int) -> None:
        part = self._totals[block * BLOCK : (block + 1) * BLOCK]
        highest = part.max()
        self._maxima[block] = highest
        self._ties[block] = np.count_nonzero(part == highest)


def best_of(totals: Integers, random: Random) -> int:
    """A position with the highest total, each with the same probability."""
    best = np.flatnonzero(totals == totals.max())
    return int(best[random.randrange(len(best))])
