"""Facts about a pod's template, worked out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from kubesched.scheduler.columns import PodTemplate

T = TypeVar("T")

_UNKNOWN: Final = object()


class PerTemplate(Generic[T]):
    """A fact that depends on the template only. It is kept with the template (`PodTemplate.memo`)."""

    __slots__ = ("_compute",)

    def __init__(self, compute: Callable[[PodTemplate], T]) -> None:
        self._compute = compute

    def of(self, pod: PodTemplate) -> T:
        known: T = pod.memo.get(self, _UNKNOWN)
        if known is _UNKNOWN:
            known = pod.memo[self] = self._compute(pod)
        return known


class PerRequests(Generic[T]):
    """A fact (not None) that depends only on what a template requests: worked out once for all that request the same.

    Where rules differ in what that is (`PodTemplate.has_plain_requests`), it is the template's own.
    """

    __slots__ = ("_compute",)

    def __init__(self, compute: Callable[[PodTemplate], T]) -> None:
        self._compute = compute

    def of(self, pod: PodTemplate) -> T:
        known: T | None = pod.requests_memo.get(self)
        if known is None:
            known = pod.requests_memo[self] = self._compute(pod)
        return known


class PerVersion(Generic[T]):
    """A fact that depends on the template and on a version: it holds while that stays equal."""

    __slots__ = ("_compute",)

    def __init__(self, compute: Callable[[PodTemplate], T]) -> None:
        self._compute = compute

    def of(self, pod: PodTemplate, version: object) -> T:
        known: tuple[object, T] | None = pod.memo.get(self)
        if known is None or known[0] != version:
            known = pod.memo[self] = (version, self._compute(pod))
        return known[1]
