"""What calls of functions cost, and how large their results are: Kubernetes' libraries, and CEL's own functions.

A function without an entry here costs 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Protocol

from kubesched.scheduler.plugins.support.devices.cel_ast import Call, Expr, Literal, Type
from kubesched.scheduler.plugins.support.devices.cel_sizes import UNKNOWN, UNLIMITED, Size, add, multiply, scale

TRAVERSAL: Final = 0.1  # of a character
MOST_VALUES: Final = 48
_REGEX: Final = 0.25  # of a character of a pattern
_OPAQUE: Final = frozenset(("kubernetes.Quantity", "kubernetes.Semver"))
_CONSTANT: Final = (
    *("sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan"),
    *("compareTo", "add", "sub", "major", "minor", "patch"),
)


class Estimator(Protocol):
    """What is known of a call's arguments."""

    @property
    def joins_copy(self) -> bool: ...
    def size(self, expr: Expr) -> Size: ...
    def element_size(self, container: Expr) -> Size | None: ...
    def type_of(self, expr: Expr) -> Type: ...


Own = tuple[int, Size | None] | None
"""A call's own cost, without its arguments', and the size of its result; None if it is none of the known ones."""
Function = Callable[[Estimator, Call], Own]


def _of_target(factor: float, *, keeps_size: bool) -> Function:
    def own(estimator: Estimator, call: Call) -> Own:
        if call.target is None:
            return None
        size = estimator.size(call.target)
        return scale(size.most, factor), size if keeps_size else None

    return own


def _of_first_argument(factor: float) -> Function:
    def own(estimator: Estimator, call: Call) -> Own:
        return (scale(estimator.size(call.args[0]).most, factor), None) if call.args else None

    return own


def _of_list(estimator: Estimator, call: Call) -> Own:
    """isSorted, sum, min, max, indexOf, lastIndexOf: of a list or of a string."""
    if call.target is None:
        return None
    size = estimator.size(call.target).most
    if not estimator.type_of(call.target).parameters:
        return scale(size, TRAVERSAL), None
    element = estimator.element_size(call.target)
    return multiply(size, 1 if element is None else add(1, scale(element.most, TRAVERSAL))), None


def _replace(estimator: Estimator, call: Call) -> Own:
    if call.target is None or len(call.args) < 2:
        return None
    size, old, new = (estimator.size(part) for part in (call.target, call.args[0], call.args[1]))
    if old.least == 0:  # an empty string is found around every character
        most = add(multiply(add(size.most, 1), new.most), size.most)
    elif new.most <= old.least:
        most = size.most
    else:
        most = multiply(math.ceil(size.most / old.least), new.most)
    if old.most == 0:
        least = add(multiply(add(size.least, 1), new.least), size.least)
    elif old.most <= new.least:
        least = size.least
    else:
        least = multiply(math.ceil(size.least / old.most), new.least)
    own = scale(size.most, 2 * TRAVERSAL)
    return max(own, scale(most, TRAVERSAL)) if estimator.joins_copy else own, Size(least, most)


def _split(estimator: Estimator, call: Call) -> Own:
    if call.target is None:
        return None
    size = estimator.size(call.target)
    limit = call.args[1] if len(call.args) > 1 else None
    most = size.most
    if isinstance(limit, Literal) and limit.number is not None:
        most = min(limit.number, UNLIMITED)
    return scale(size.most, 2 * TRAVERSAL), Size(0, most)


def _join(estimator: Estimator, call: Call) -> Own:
    if call.target is None:
        return None
    count = estimator.size(call.target)
    size = Size(0, 0)
    if estimator.type_of(call.target).parameters:
        size = count.times(estimator.element_size(call.target) or UNKNOWN)
    if call.args:
        between = Size(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(estimator.size(call.args[0]).times(between))
    return scale(size.most, TRAVERSAL), size


def _equal(estimator: Estimator, call: Call) -> Own:
    if len(call.args) != 2:
        return None
    left, right = map(estimator.type_of, call.args)
    return (1, None) if left == right and left.name in _OPAQUE else None


def _sets(factor: int) -> Function:
    def own(estimator: Estimator, call: Call) -> Own:
        if len(call.args) != 2:
            return None
        left, right = (estimator.size(arg).most for arg in call.args)
        return add(multiply(multiply(left, right), factor), 1), None

    return own


def _matches(estimator: Estimator, call: Call) -> Own:
    text, pattern = (call.target, call.args[0]) if call.target is not None else (None, None)
    if text is None or pattern is None or len(call.args) != 1:
        return None
    length = scale(add(estimator.size(text).most, 1), TRAVERSAL)
    return multiply(length, scale(estimator.size(pattern).most, _REGEX)), None


def _contains(estimator: Estimator, call: Call) -> Own:
    if call.target is None or len(call.args) != 1:
        return None
    text, part = (scale(estimator.size(e).most, TRAVERSAL) for e in (call.target, call.args[0]))
    return multiply(text, part), None


def _to_bytes(estimator: Estimator, call: Call) -> Own:
    size = estimator.size(call.args[0])
    return scale(size.most, TRAVERSAL), Size(size.least, multiply(size.most, 4))


def _to_string(estimator: Estimator, call: Call) -> Own:
    size = estimator.size(call.args[0])
    return scale(size.most, TRAVERSAL), Size(size.least // 4, size.most)


def _quote(estimator: Estimator, call: Call) -> Own:
    size = estimator.size(call.args[0])
    return scale(size.most, TRAVERSAL), Size(add(size.least, 2), add(multiply(size.most, 2), 2))


def _in_list(estimator: Estimator, call: Call) -> Own:
    return (estimator.size(call.args[1]).most, None) if len(call.args) == 2 else None


LIBRARY: Final[dict[str, Function]] = {
    "includes": lambda _, call: (MOST_VALUES, None) if call.target is not None else None,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _of_list),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _of_target(TRAVERSAL, keeps_size=True)),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _of_first_argument(TRAVERSAL)),
    **dict.fromkeys(_CONSTANT, lambda _, __: (1, None)),
    "_==_": _equal,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}
"""By function, of Kubernetes' libraries."""

STANDARD: Final[dict[str, Function]] = {
    "string_format": _of_target(TRAVERSAL, keeps_size=False),
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_string,
    "strings_quote": _quote,
    "starts_with_string": _of_first_argument(TRAVERSAL),
    "ends_with_string": _of_first_argument(TRAVERSAL),
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
}
"""By overload, of CEL's own functions."""
