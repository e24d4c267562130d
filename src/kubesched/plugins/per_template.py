"""Facts that depend on a pod's template only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from kubesched.columns import PodTemplate

T = TypeVar("T")


class PerTemplate(Generic[T]):
    """`compute` is asked once per template; its answer is forgotten with the template, and must not hold it."""

    __slots__ = ("_compute", "_known")

    def __init__(self, compute: Callable[[PodTemplate], T]) -> None:
        self._compute = compute
        self._known: WeakKeyDictionary[PodTemplate, T] = WeakKeyDictionary()

    def of(self, pod: PodTemplate) -> T:
        try:
            return self._known[pod]
        except KeyError:
            fact = self._known[pod] = self._compute(pod)
            return fact
