"""Numbers of one node or of many: a formula is written once and holds for both.

The engine asks most often about a single node, the one where the last pod went. Plain integers are several times
faster there than arrays of length one, so the columns of such a view become integers. Arrays count as Go's int64 does,
overflow included: a number that could overflow in a percentage therefore stays in its array.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from kubesched.columns import Booleans, Integers, NodeView

Amount: TypeAlias = Integers | int
Truth: TypeAlias = Booleans | bool

_LARGEST_PLAIN: Final = (1 << 62) // 100


def amount(column: Integers) -> Amount:
    """A view's column, as an integer if the view has one row."""
    return column.item() if len(column) == 1 and column[0] < _LARGEST_PLAIN else column


def column(value: Amount, nodes: NodeView) -> Integers:
    """Back to one entry per row of the view; a plain number stands for every row."""
    if isinstance(value, np.ndarray):
        return value
    return np.full(len(nodes), value, dtype=np.int64)


def at_least(value: Amount, lower: int) -> Amount:
    return np.maximum(value, lower) if isinstance(value, np.ndarray) else max(value, lower)


def at_most(value: Amount, upper: Amount) -> Amount:
    if isinstance(value, np.ndarray) or isinstance(upper, np.ndarray):
        return np.minimum(value, upper)
    return min(value, upper)


def quotient(value: Amount, divisor: Amount) -> Amount:
    """Division by a positive number that truncates toward zero, as Go's does."""
    if isinstance(value, np.ndarray) and np.count_nonzero(value < 0):
        return np.where(value < 0, -(-value // divisor), value // divisor)
    return value // divisor


def holds_somewhere(truth: Truth) -> bool:
    return bool(np.count_nonzero(truth)) if isinstance(truth, np.ndarray) else truth


def is_zero_somewhere(value: Amount) -> bool:
    return bool(np.count_nonzero(value) < len(value)) if isinstance(value, np.ndarray) else value == 0
