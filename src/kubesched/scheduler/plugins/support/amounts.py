"""Numbers of one node or of many: a formula is written once and holds for both.

The engine asks most often about a single node, the one where the last pod went, unless it remembers what a node with
the same sums was told. Plain integers are several times faster there than arrays of length one, so the columns of such
a view become integers. (Measured with 5,000 nodes: a pod costs a third less where the nodes are of 1,700 kinds, as real
ones are that differ by some KiB of memory; where all are equal, it costs the same.)

Where sums are kept as floats that hold them exactly (`exact_sums`), formulas go on in floats: these are whole numbers
all the same.

Arrays of integers count as Go's int64 does, overflow included: a number that could overflow in a percentage stays in
its array.

Functions that say so work in place: hand them a result of your own, never a column of the table.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kubesched.scheduler.columns import Booleans, Integers, NodeView

Amount: TypeAlias = npt.NDArray[Any] | int
"""Arrays are of integers, or of floats."""
Truth: TypeAlias = Booleans | bool

_LARGEST_PLAIN: Final = (1 << 62) // 100


def amount(column: Integers) -> Amount:
    """A view's column, as an integer if the view has one row."""
    if len(column) != 1:
        return column
    value = column.item()
    return value if value < _LARGEST_PLAIN else column


def column(value: Amount, nodes: NodeView) -> Integers:
    """Back to one entry per row of the view; a plain number stands for every row."""
    if isinstance(value, np.ndarray):
        return value.astype(np.int64, copy=False)
    if not value:
        return np.zeros(len(nodes), dtype=np.int64)
    return np.array([value]) if len(nodes) == 1 else np.full(len(nodes), value)


def at_least(value: Amount, lower: int) -> Amount:
    """In place."""
    return np.maximum(value, lower, out=value) if isinstance(value, np.ndarray) else max(value, lower)


def at_most(value: Amount, upper: Amount) -> Amount:
    """In place, unless only `upper` is an array."""
    if isinstance(value, np.ndarray):
        return np.minimum(value, upper, out=value)
    return np.minimum(value, upper) if isinstance(upper, np.ndarray) else min(value, upper)


def quotient(value: Amount, divisor: Amount) -> Amount:
    """Division by a positive number that truncates toward zero, as Go's does. In place."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        value /= divisor
        return np.trunc(value, out=value)
    if isinstance(value, np.ndarray) and np.minimum.reduce(value, initial=0) < 0:
        return np.where(value < 0, -(-value // divisor), value // divisor)
    value //= divisor
    return value


def holds_somewhere(truth: Truth) -> bool:
    return bool(np.count_nonzero(truth)) if isinstance(truth, np.ndarray) else truth
