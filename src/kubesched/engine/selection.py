"""Picking one of the best nodes: block maxima, so that the cost does not grow with the number of nodes."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np

from kubesched.columns import Integers

INFEASIBLE: Final = -1
"""The total of a row that does not take the pod: below every real total."""


class BlockMaxima:
    """The totals of all rows, with the maximum of each block of rows and how many rows of the block have it.

    Blocks are about as long as there are blocks, so that both the search for a block and the search in it are short.
    """

    __slots__ = ("_maxima", "_shift", "_ties", "_totals")

    def __init__(self, totals: Integers) -> None:
        self._totals = totals
        self._shift = max(6, (len(totals).bit_length() + 1) // 2)
        blocks = (len(totals) + (1 << self._shift) - 1) >> self._shift
        self._maxima = [INFEASIBLE] * blocks
        self._ties = [0] * len(self._maxima)
        for block in range(len(self._maxima)):
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
        block = row >> self._shift
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
        highest = max(self._maxima, default=INFEASIBLE)
        if highest <= INFEASIBLE:
            return -1
        blocks = [block for block, total in enumerate(self._maxima) if total == highest]
        chosen = random.randrange(sum(self._ties[block] for block in blocks))
        for block in blocks:
            if chosen < self._ties[block]:
                break
            chosen -= self._ties[block]
        start = block << self._shift
        part = self._totals[start : start + (1 << self._shift)]
        return start + int((part == highest).nonzero()[0][chosen])

    def _count(self, block: int) -> None:
        part = self._totals[block << self._shift : (block + 1) << self._shift]
        highest = int(part.max())
        self._maxima[block] = highest
        self._ties[block] = int(np.count_nonzero(part == highest))


def best_of(totals: Integers, random: Random) -> int:
    """A position with the highest total, each with the same probability."""
    best = np.flatnonzero(totals == totals.max())
    return int(best[random.randrange(len(best))])
