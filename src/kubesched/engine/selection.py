"""Picking one of the best nodes, at a cost that hardly grows with the number of nodes."""

from __future__ import annotations

from array import array
from random import Random
from typing import Final

import numpy as np

from kubesched.columns import Integers

INFEASIBLE: Final = -1
"""The total of a row that does not take the pod: below every real total."""


class BlockMaxima:
    """The totals of all rows; per block of rows, the highest one and how many rows have it.

    Blocks are about as long as there are blocks, so that both the search for a block and the search in it are short.
    Mostly neither is needed: the best rows of all are listed, and one is drawn from the list until none is left in it.
    """

    __slots__ = ("_best", "_fallen", "_highest", "_maxima", "_shift", "_ties", "_totals")

    def __init__(self, totals: Integers) -> None:
        self._totals = totals
        self._shift = max(6, (len(totals).bit_length() + 1) // 2)
        size = 1 << self._shift
        padded = np.pad(totals, (0, -len(totals) % size), constant_values=INFEASIBLE) if len(totals) % size else totals
        blocks = padded.reshape(-1, size)
        maxima = blocks.max(axis=1, initial=INFEASIBLE)
        self._maxima: list[int] = maxima.tolist()
        self._ties: list[int] = np.count_nonzero(blocks == maxima[:, np.newaxis], axis=1).tolist()
        self._highest = INFEASIBLE
        self._best = array("q")
        """Every row that has the highest total of all, once, and the `_fallen` ones; empty: not listed yet."""
        self._fallen: set[int] = set()
        """Rows in `_best` whose total is lower by now: they leave it when they are drawn."""

    @property
    def totals(self) -> Integers:
        """By row. Change them with `set` only."""
        return self._totals

    def set(self, row: int, total: int) -> None:
        """A row's total has changed; its block is counted again only if that cannot be avoided."""
        before = int(self._totals[row])
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
            self._ties[block] -= 1
            if not self._ties[block]:
                self._count(block)
        if self._best:
            self._relist(row, before, total)

    def best(self, random: Random) -> int:
        """A row with the highest total, each with the same probability; -1 if every row is infeasible."""
        best, fallen = self._best, self._fallen
        while best or self._list_best():
            position = random.randrange(len(best))
            row = best[position]
            if row not in fallen:
                return row
            fallen.discard(row)
            best[position] = best[-1]
            best.pop()
        return -1

    def _relist(self, row: int, before: int, total: int) -> None:
        if total > self._highest:
            self._highest = total
            self._fallen.clear()
            self._best[:] = array("q", (row,))
        elif total == self._highest:
            if row in self._fallen:
                self._fallen.discard(row)
            else:
                self._best.append(row)
        elif before == self._highest:
            self._fallen.add(row)

    def _list_best(self) -> bool:
        """False if every row is infeasible."""
        self._highest = highest = max(self._maxima, default=INFEASIBLE)
        if highest <= INFEASIBLE:
            return False
        block = -1
        for _ in range(self._maxima.count(highest)):
            block = self._maxima.index(highest, block + 1)
            start = block << self._shift
            part = self._totals[start : start + (1 << self._shift)]
            self._best.frombytes(((part == highest).nonzero()[0] + start).tobytes())
        return True

    def _count(self, block: int) -> None:
        start = block << self._shift
        part = self._totals[start : start + (1 << self._shift)]
        highest = int(part.max())
        self._maxima[block] = highest
        self._ties[block] = int(np.count_nonzero(part == highest))


def best_of(totals: Integers, random: Random) -> int:
    """A position with the highest total, each with the same probability."""
    best = np.flatnonzero(totals == totals.max())
    return int(best[random.randrange(len(best))])
