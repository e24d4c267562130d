"""Array types, and growing them."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Ids: TypeAlias = npt.NDArray[np.int32]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = Integers
Positions: TypeAlias = npt.NDArray[np.intp]
Rows: TypeAlias = Positions | slice

_Scalar = TypeVar("_Scalar", bound=np.generic)

ABSENT = -1
"""The id of "no value": a label that a node does not carry, a row without a domain."""


def cells(array: Integers | Ids) -> memoryview:
    """The entries of an array, to be read and written one by one: for half of what NumPy takes."""
    return array.data


def grown(array: npt.NDArray[_Scalar], capacity: int, fill: Any) -> npt.NDArray[_Scalar]:
    """A copy with room for `capacity` entries, new ones set to `fill`."""
    larger = np.full(capacity, fill, dtype=array.dtype)
    larger[: len(array)] = array
    return larger
