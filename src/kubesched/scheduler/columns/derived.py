"""A value that is made from inputs with versions, and kept while these stay the same."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Derived(Generic[T]):
    """Remembers one value, and the versions of the inputs that it was made from.

    value = derived.value_at(versions)
    if value is None:
        value = derived.keep(make(), versions)
    """

    __slots__ = ("_made_from", "_value")

    def __init__(self) -> None:
        self._made_from: object = None
        self._value: T | None = None

    def value_at(self, versions: object) -> T | None:
        """The value, if it was made from these versions of the inputs."""
        return self._value if self._made_from == versions else None

    def keep(self, value: T, versions: object) -> T:
        """Remember a value, and what it was made from. Returns it."""
        self._value, self._made_from = value, versions
        return value
