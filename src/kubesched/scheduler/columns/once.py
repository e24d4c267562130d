"""Facts that are worked out when somebody asks for them first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
Owner = TypeVar("Owner")


class once(Generic[Owner, T]):  # noqa: N801 - it is used as a decorator, as `property` is
    """`functools.cached_property` without the lock that it takes up to Python 3.11: one event loop owns all state."""

    def __init__(self, compute: Callable[[Owner], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> once[Owner, T]: ...

    @overload
    def __get__(self, instance: Owner, owner: type[Any]) -> T: ...

    def __get__(self, instance: Owner | None, owner: type[Any]) -> once[Owner, T] | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
