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

    __slots__ = ("_maxima", "_shift", "_tied", "_ties", "_totals")

    def __init__(self, totals: Integers) -> None:
        self._totals = totals
        self._shift = max(6, (len(totals).bit_length() + 1) // 2)
        size = 1 << self._shift
        padded = np.pad(totals, (0, -len(totals) % size), constant_values=INFEASIBLE) if len(totals) % size else totals
        blocks = padded.reshape(-1, size)
        maxima = blocks.max(axis=1, initial=INFEASIBLE)
        self._maxima: list[int] = maxima.tolist()
        self._ties: list[int] = np.count_nonzero(blocks == maxima[:, np.newaxis], axis=1).tolist()
        self._tied: list[list[int] | None] = [None] * len(self._maxima)  # listed when a block is first drawn from

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
            self._maxima[block], self._ties[block], self._tied[block] = total, 1, [row]
        elif total == highest:
            self._ties[block] += 1
            if tied is not None:
                tied.append(row)
        elif before == highest:
            self._ties[block] -= 1
            if not self._ties[block]:
                self._count(block)
            elif tied is not None:
                tied.remove(row)

    def best(self, random: Random) -> int:
        """A row with the highest total, each with the same probability; -1 if every row is infeasible."""
        highest = max(self._maxima, default=INFEASIBLE)
        if highest <= INFEASIBLE:
            return -1
        blocks = [block for block, total in enumerate(self._maxima) if total == highest]
        chosen = random.randrange(sum([self._ties[block] for block in blocks]))
        for block in blocks:
            if chosen < self._ties[block]:
                break
            chosen -= self._ties[block]
        tied = self._tied[block]
        if tied is None:
            start = block << self._shift
            part = self._totals[start : start + (1 << self._shift)]
            tied = self._tied[block] = ((part == highest).nonzero()[0] + start).tolist()
        return tied[chosen]

    def _count(self, block: int) -> None:
        start = block << self._shift
        part = self._totals[start : start + (1 << self._shift)]
        highest = int(part.max())
        self._maxima[block], self._tied[block] = highest, None
        self._ties[block] = int(np.count_nonzero(part == highest))


def best_of(totals: Integers, random: Random) -> int:
    """A position with the highest total, each with the same probability."""
    best = np.flatnonzero(totals == totals.max())
    return int(best[random.randrange(len(best))])
