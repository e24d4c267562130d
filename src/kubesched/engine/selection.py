"""Picking one of the best nodes: block maxima, so that the cost does not grow with the number of nodes."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np

from kubesched.columns import Integers

INFEASIBLE: Final = -1
"""The total of a row that does not take the pod: below every real total."""


class BlockMaxima:
    """The totals of all rows; per block of rows, the highest one and the rows that have it.

    Blocks are about as long as there are blocks, so that both the search for a block and the search in it are short.
    """

    __slots__ = ("_maxima", "_shift", "_tied", "_totals")

    def __init__(self, totals: Integers) -> None:
        self._totals = totals
        self._shift = max(6, (len(totals).bit_length() + 1) // 2)
        blocks = (len(totals) + (1 << self._shift) - 1) >> self._shift
        self._maxima = [INFEASIBLE] * blocks
        self._tied: list[list[int]] = [[] for _ in range(blocks)]
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
        block = row >> self._shift
        highest, tied = self._maxima[block], self._tied[block]
        if total > highest:
            self._maxima[block], self._tied[block] = total, [row]
        elif total == highest:
            tied.append(row)
        elif before == highest:
            if len(tied) > 1:
                tied.remove(row)
            else:
                self._count(block)

    def best(self, random: Random) -> int:
        """A row with the highest total, each with the same probability; -1 if every row is infeasible."""
        highest = max(self._maxima, default=INFEASIBLE)
        if highest <= INFEASIBLE:
            return -1
        candidates = [tied for tied, total in zip(self._tied, self._maxima, strict=True) if total == highest]
        if len(candidates) == 1:
            tied = candidates[0]
            return tied[random.randrange(len(tied))] if len(tied) > 1 else tied[0]
        chosen = random.randrange(sum(map(len, candidates)))
        for tied in candidates:
            if chosen < len(tied):
                return tied[chosen]
            chosen -= len(tied)
        raise AssertionError("the candidates are as many as they were counted")

    def _count(self, block: int) -> None:
        start = block << self._shift
        part = self._totals[start : start + (1 << self._shift)]
        highest = int(part.max())
        self._maxima[block] = highest
        self._tied[block] = ((part == highest).nonzero()[0] + start).tolist()


def best_of(totals: Integers, random: Random) -> int:
    """A position with the highest total, each with the same probability."""
    best = np.flatnonzero(totals == totals.max())
    return int(best[random.randrange(len(best))])
