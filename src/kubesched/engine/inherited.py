"""A column taken from another template."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

Column = TypeVar("Column")


class Inherited(NamedTuple, Generic[Column]):
    """A copy that is right but at `rows`: the plugin must be asked about those."""

    column: Column
    rows: list[int]


Inherit = Callable[[str], Inherited[Column] | None]
"""The column of a plugin, by name, from a template that is alike to it; None if there is none."""
