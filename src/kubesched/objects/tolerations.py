"""Which taints tolerations cover (v1.Toleration.ToleratesTaint)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kubesched.objects.requirements import parse_int64


class AnyTaint(Protocol):
    """Of a node or of a device."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def effect(self) -> str: ...


class AnyToleration(AnyTaint, Protocol):
    """Of a pod or of a request for devices: an empty key or effect stands for all of them."""

    @property
    def operator(self) -> str: ...


class Tolerations:
    """All tolerations of somebody. To ask about a taint takes as long with many of them as with one."""

    __slots__ = ("_above", "_below", "_equal", "_exist")

    def __init__(self, tolerations: Iterable[AnyToleration]) -> None:
        self._exist: set[tuple[str, str]] = set()  # (key, effect)
        self._equal: set[tuple[str, str, str]] = set()  # (key, effect, value)
        self._below: dict[tuple[str, str], int] = {}  # by key and effect: all numbers below this
        self._above: dict[tuple[str, str], int] = {}
        for toleration in tolerations:
            self._add(toleration)

    def _add(self, toleration: AnyToleration) -> None:
        where = (toleration.key, toleration.effect)
        match toleration.operator:
            case "" | "Equal":
                self._equal.add((*where, toleration.value))
            case "Exists":
                self._exist.add(where)
            case "Lt" if (bound := parse_int64(toleration.value)) is not None:
                self._below[where] = max(bound, self._below.get(where, bound))
            case "Gt" if (bound := parse_int64(toleration.value)) is not None:
                self._above[where] = min(bound, self._above.get(where, bound))
            case _:
                pass

    def tolerate(self, taint: AnyTaint, *, comparing: bool = False) -> bool:
        """`comparing` allows the operators Lt and Gt (feature gate TaintTolerationComparisonOperators)."""
        for where in ((taint.key, taint.effect), (taint.key, ""), ("", taint.effect), ("", "")):
            if where in self._exist or (*where, taint.value) in self._equal:
                return True
            if comparing and (where in self._below or where in self._above) and self._compare(where, taint.value):
                return True
        return False

    def _compare(self, where: tuple[str, str], text: str) -> bool:
        value = parse_int64(text)
        if value is None:
            return False
        below, above = self._below.get(where), self._above.get(where)
        return (below is not None and value < below) or (above is not None and value > above)


def tolerates_taint(toleration: AnyToleration, taint: AnyTaint, *, comparing: bool = False) -> bool:
    """Whether one toleration covers one taint."""
    return Tolerations((toleration,)).tolerate(taint, comparing=comparing)
