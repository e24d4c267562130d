"""Lists inside CEL expressions: attributes with several values, and the functions that Kubernetes offers on them.

`includes` is there for attributes that are a list on some devices and a single value on others. The rest is the
library `kubernetes.lists`, and `sets` of cel-go. `indexOf` is missing: the CEL library has it for strings, and takes no
second one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cel_expr_python import cel

from kubesched.scheduler.plugins.support.devices.selector_values import Signature, declared

_MOST_VALUES: Final = 48  # ResourceSliceMaxAttributeValuesPerDevice

_BOOL, _INT, _DYN = cel.Type.BOOL, cel.Type.INT, cel.Type.DYN
_LIST: Final = cel.Type.List(_DYN)
_SUMMABLE: Final = (_INT, cel.Type.UINT, cel.Type.DOUBLE)
_COMPARABLE: Final = (*_SUMMABLE, _BOOL, cel.Type.STRING, cel.Type.BYTES, cel.Type.DURATION, cel.Type.TIMESTAMP)
_ANYTHING: Final = (*_COMPARABLE, _LIST, cel.Type.Map(_DYN, _DYN), cel.Type.NULL)
"""Overloads are found at run time by the types of values: there is none for all types."""


def _equal(a: Any, b: Any) -> bool:
    """As in CEL, where numbers of all types are comparable, but conditions are no numbers."""
    return isinstance(a, bool) is isinstance(b, bool) and bool(a == b)


def _has(values: list[Any], value: Any) -> bool:
    return any(_equal(item, value) for item in values)


def _includes(attribute: Any, value: Any) -> bool:
    """An attribute with one value includes just that (includesFunc)."""
    if not isinstance(attribute, list):
        return _equal(attribute, value)
    if not _has(attribute[:_MOST_VALUES], value) and len(attribute) > _MOST_VALUES:
        raise ValueError(f"'includes' function cannot be applied to lists longer than {_MOST_VALUES} values")
    return _has(attribute[:_MOST_VALUES], value)


def _contains(values: list[Any], others: list[Any]) -> bool:
    return all(_has(values, other) for other in others)


def _sum(values: list[Any]) -> Any:
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise ValueError("no such overload: sum(list)")
    return sum(values)


def _extreme(name: str, choose: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def of(values: list[Any]) -> Any:
        if not values:
            raise ValueError(f"{name} called on empty list")
        return choose(_ordered(values, name))

    return of


def _is_sorted(values: list[Any]) -> bool:
    return all(a <= b for a, b in zip(_ordered(values, "isSorted"), values[1:], strict=False))


def _ordered(values: list[Any], function: str) -> list[Any]:
    """The same values, if they are of a type that has an order: versions and quantities (bytes here) have none."""
    if any(isinstance(value, (bytes, bytearray, list, dict, type(None))) for value in values):
        raise ValueError(f"no such overload: {function}(list)")
    return values


def _of_lists(result: Any, types: tuple[Any, ...]) -> list[Signature]:
    """The signatures of a member of lists of these types; without a `result` type, it is that of the list's values."""
    return [(result or of, cel.Type.List(of)) for of in types]


_TWO_LISTS: Final[list[Signature]] = [(_BOOL, _LIST, _LIST)]
_ENTRIES: Final[dict[str, tuple[Callable[..., Any], bool, list[Signature]]]] = {
    # name: (function, whether it is a member, signatures)
    "includes": (_includes, True, [(_BOOL, _DYN, _DYN)]),
    "sets.contains": (_contains, False, _TWO_LISTS),
    "sets.equivalent": (lambda a, b: _contains(a, b) and _contains(b, a), False, _TWO_LISTS),
    "sets.intersects": (lambda a, b: any(_has(b, value) for value in a), False, _TWO_LISTS),
    "isSorted": (_is_sorted, True, _of_lists(_BOOL, _COMPARABLE)),
    "sum": (_sum, True, _of_lists(None, _SUMMABLE)),
    "min": (_extreme("min", min), True, _of_lists(None, _COMPARABLE)),
    "max": (_extreme("max", max), True, _of_lists(None, _COMPARABLE)),
}

FUNCTIONS: Final = frozenset(_ENTRIES)


def declarations() -> list[Any]:
    """The functions with their real types, for the type checker."""
    return [declared(name, function, signatures, member) for name, (function, member, signatures) in _ENTRIES.items()]


def implementations() -> list[Any]:
    """The functions with the types that values have at run time."""
    return [
        declared(name, function, _at_run_time(name, signatures), member)
        for name, (function, member, signatures) in _ENTRIES.items()
    ]


def _at_run_time(name: str, signatures: list[Signature]) -> list[Signature]:
    if name == "includes":
        return [(_BOOL, a, b) for a in _ANYTHING for b in _ANYTHING]
    return signatures if signatures is _TWO_LISTS else [(_DYN, _LIST)]
