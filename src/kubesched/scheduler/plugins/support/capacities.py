"""What nodes offer of a resource, and what follows from that: worked out again only when a node has changed."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct

from kubesched.scheduler.columns import Floats, Integers, NodeView, Positions
from kubesched.scheduler.plugins.support.amounts import Amount, amount, quotient

Share: TypeAlias = Floats | float

LARGEST_EXACT: Final = (1 << 53) // 100
"""A hundred times as much is a number that a float can hold."""


class Capacity(Struct, frozen=True, gc=False):
    """How much each node of a view has of a resource."""

    amount: Amount
    floats: Floats | None
    """The same as floats, for views of all nodes; None for others, and where a float could not hold it."""
    whole: Share
    """What to divide by: 1 where it is nothing."""
    is_lacking: bool
    """Some node has nothing of it."""
    is_exact: bool
    """It is at most `LARGEST_EXACT` everywhere."""

    def like(self, taken: Amount) -> Amount:
        """The amount, as floats where what is taken is given in floats."""
        if self.floats is not None and isinstance(taken, np.ndarray) and taken.dtype.kind == "f":
            return self.floats
        return self.amount

    def percentage(self, part: Amount) -> Amount:
        """How much of it a part between nothing and all of it is, without the fraction. In place."""
        part *= 100
        if not isinstance(part, np.ndarray):
            return part // (self.amount or 1)
        if part.dtype.kind == "f":
            part /= self.whole
            return np.floor(part, out=part)
        if self.is_exact:
            # Faster, and as exact: the quotient of numbers that a float can hold is never rounded up to an integer.
            return (part / self.whole).astype(np.int64)
        return quotient(part, np.maximum(self.amount, 1))

    @classmethod
    def of(cls, value: Amount, *, for_all_nodes: bool = False) -> Capacity:
        if not isinstance(value, np.ndarray):
            return cls(value, None, float(value or 1), value == 0, value <= LARGEST_EXACT)
        floats = value.astype(np.float64)
        is_lacking, is_exact = _lacks_some(value), bool(np.maximum.reduce(value, initial=0) <= LARGEST_EXACT)
        whole = np.where(value == 0, 1.0, floats) if is_lacking else floats
        return cls(value, floats if for_all_nodes and is_exact else None, whole, is_lacking, is_exact)

    def at(self, positions: Positions) -> Capacity:
        """The capacities of some of the nodes; of a view of many."""
        assert isinstance(self.amount, np.ndarray), "made of a column"
        assert isinstance(self.whole, np.ndarray), "made of a column"
        amounts: Integers = self.amount[positions]
        return Capacity(amounts, None, self.whole[positions], self.is_lacking and _lacks_some(amounts), self.is_exact)


class Capacities:
    """The capacities of views; those of all nodes are kept as long as no node changes."""

    def __init__(self) -> None:
        self._kept: dict[str, Capacity] = {}
        self._kept_for = (-1, -1)

    def of(self, resource: str, nodes: NodeView) -> Capacity:
        rows = nodes.rows
        if not isinstance(rows, slice) and len(rows) == 1:
            return Capacity.of(amount(nodes.allocatable(resource)))
        now = (nodes.table.node_changes.position, len(nodes.table))
        if isinstance(rows, slice):
            if now != self._kept_for:
                self._kept.clear()
                self._kept_for = now
            capacity = self._kept.get(resource)
            if capacity is None:
                capacity = self._kept[resource] = Capacity.of(nodes.allocatable(resource), for_all_nodes=True)
            return capacity
        if now == self._kept_for and resource in self._kept:
            return self._kept[resource].at(rows)
        return Capacity.of(nodes.allocatable(resource))


def _lacks_some(value: Integers) -> bool:
    return bool(np.count_nonzero(value) < len(value))
