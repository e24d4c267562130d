"""Sizes of what a CEL expression handles, as far as they are known: never more than `UNLIMITED`."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

UNLIMITED: Final = (1 << 64) - 1


class Size(NamedTuple):
    least: int
    most: int

    def __or__(self, other: Size) -> Size:
        return Size(min(self.least, other.least), max(self.most, other.most))

    def plus(self, other: Size) -> Size:
        return Size(add(self.least, other.least), add(self.most, other.most))

    def times(self, other: Size) -> Size:
        return Size(multiply(self.least, other.least), multiply(self.most, other.most))


class Entries(NamedTuple):
    """The sizes of what is in a list or map."""

    is_list: bool
    keys: Size
    values: Size


UNKNOWN: Final = Size(0, UNLIMITED)
ONE: Final = Size(1, 1)


def add(*numbers: int) -> int:
    return min(sum(numbers), UNLIMITED)


def multiply(a: int, b: int) -> int:
    return min(a * b, UNLIMITED)


def scale(number: int, factor: float) -> int:
    return min(math.ceil(number * factor), UNLIMITED)
