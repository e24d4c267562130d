"""Quantities and versions inside CEL expressions, and the functions that Kubernetes offers on them.

The CEL runtime knows no types of ours, so a quantity or version travels through an expression as bytes: a letter for
its type, then its canonical form. Equal values have equal bytes. The type checker runs first and knows the real
types, so an expression sees no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cel_expr_python import cel

from kubesched.objects.quantity import Quantity
from kubesched.scheduler.plugins.support.devices.semantic_version import SemanticVersion

_QUANTITY: Final = b"q"
_VERSION: Final = b"v"
_NANOS_PER_UNIT: Final = 10**9
_TYPE_NAMES: Final = {_QUANTITY: "kubernetes.Quantity", _VERSION: "kubernetes.Semver"}
_INT64: Final = range(-(1 << 63), 1 << 63)

QUANTITY: Final = cel.Type.AbstractType("kubernetes.Quantity")
VERSION: Final = cel.Type.AbstractType("kubernetes.Semver")
_BOOL, _INT, _STRING = cel.Type.BOOL, cel.Type.INT, cel.Type.STRING
_BYTES, _DOUBLE = cel.Type.BYTES, cel.Type.DOUBLE

Signature = tuple[Any, ...]
"""(result type, parameter types...)"""


def quantity_value(quantity: Quantity) -> bytes:
    return _QUANTITY + str(quantity.nanos).encode()


def version_value(version: SemanticVersion) -> bytes:
    return _VERSION + str(version).encode()


def _decoded(value: bytes) -> int | SemanticVersion:
    """Nanos of a quantity, or a version."""
    text = value[1:].decode()
    return int(text) if value[:1] == _QUANTITY else SemanticVersion.parse(text)


def _nanos(value: bytes) -> int:
    if value[:1] != _QUANTITY:
        raise ValueError("no such overload")
    return int(value[1:])


def _version(value: bytes) -> SemanticVersion:
    if value[:1] != _VERSION:
        raise ValueError("no such overload")
    return SemanticVersion.parse(value[1:].decode())


def _compare(left: bytes, right: bytes, function: str = "compareTo") -> int:
    if left[:1] != right[:1]:
        types = ", ".join(_TYPE_NAMES[bytes(value[:1])] for value in (left, right))
        raise ValueError(f"no such overload: {function}({types})")
    a: Any = _decoded(left)
    b: Any = _decoded(right)
    return int(a > b) - int(a < b)


def _quantity(text: str) -> bytes:
    return quantity_value(Quantity.parse(text))


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueError:
        return False
    return True


def _semver(text: str, tolerant: bool = False) -> bytes:
    return version_value(SemanticVersion.parse_tolerantly(text) if tolerant else SemanticVersion.parse(text))


def _is_semver(text: str, tolerant: bool = False) -> bool:
    try:
        _semver(text, tolerant)
    except ValueError:
        return False
    return True


def _is_integer(value: bytes) -> bool:
    whole, rest = divmod(_nanos(value), _NANOS_PER_UNIT)
    return not rest and whole in _INT64


def _as_integer(value: bytes) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _nanos(value) // _NANOS_PER_UNIT


def _sum(left: bytes, right: bytes | int, sign: int) -> bytes:
    other = right * _NANOS_PER_UNIT if isinstance(right, int) else _nanos(right)
    return _QUANTITY + str(_nanos(left) + sign * other).encode()


def _sign(value: bytes) -> int:
    nanos = _nanos(value)
    return int(nanos > 0) - int(nanos < 0)


_GLOBAL: Final[dict[str, tuple[Callable[..., Any], list[Signature]]]] = {
    "quantity": (_quantity, [(QUANTITY, _STRING)]),
    "isQuantity": (_is_quantity, [(_BOOL, _STRING)]),
    "sign": (_sign, [(_INT, QUANTITY)]),
    "semver": (_semver, [(VERSION, _STRING), (VERSION, _STRING, _BOOL)]),
    "isSemver": (_is_semver, [(_BOOL, _STRING), (_BOOL, _STRING, _BOOL)]),
}
_MEMBERS: Final[dict[str, tuple[Callable[..., Any], list[Signature]]]] = {
    "isGreaterThan": (
        lambda a, b: _compare(a, b, "isGreaterThan") > 0,
        [(_BOOL, QUANTITY, QUANTITY), (_BOOL, VERSION, VERSION)],
    ),
    "isLessThan": (
        lambda a, b: _compare(a, b, "isLessThan") < 0,
        [(_BOOL, QUANTITY, QUANTITY), (_BOOL, VERSION, VERSION)],
    ),
    "compareTo": (_compare, [(_INT, QUANTITY, QUANTITY), (_INT, VERSION, VERSION)]),
    "isInteger": (_is_integer, [(_BOOL, QUANTITY)]),
    "asInteger": (_as_integer, [(_INT, QUANTITY)]),
    "asApproximateFloat": (lambda a: _nanos(a) / _NANOS_PER_UNIT, [(_DOUBLE, QUANTITY)]),
    "add": (lambda a, b: _sum(a, b, +1), [(QUANTITY, QUANTITY, QUANTITY), (QUANTITY, QUANTITY, _INT)]),
    "sub": (lambda a, b: _sum(a, b, -1), [(QUANTITY, QUANTITY, QUANTITY), (QUANTITY, QUANTITY, _INT)]),
    "major": (lambda a: _version(a).major, [(_INT, VERSION)]),
    "minor": (lambda a: _version(a).minor, [(_INT, VERSION)]),
    "patch": (lambda a: _version(a).patch, [(_INT, VERSION)]),
}

FUNCTIONS: Final = frozenset((*_GLOBAL, *_MEMBERS))


def declarations() -> list[Any]:
    """The functions with their real types, for the type checker."""
    return [declared(name, *entry, is_member=False) for name, entry in _GLOBAL.items()] + [
        declared(name, *entry, is_member=True) for name, entry in _MEMBERS.items()
    ]


def implementations() -> list[Any]:
    """The functions with the types that values have at run time."""
    return [
        declared(name, function, _at_run_time(signatures), is_member=False)
        for name, (function, signatures) in _GLOBAL.items()
    ] + [
        declared(name, function, _at_run_time(signatures), is_member=True)
        for name, (function, signatures) in _MEMBERS.items()
    ]


def _at_run_time(signatures: list[Signature]) -> list[Signature]:
    """Quantities and versions are bytes then, so that some overloads coincide."""
    plain = [tuple(_BYTES if t in (QUANTITY, VERSION) else t for t in signature) for signature in signatures]
    return [signature for i, signature in enumerate(plain) if signature not in plain[:i]]


def declared(name: str, function: Callable[..., Any], signatures: list[Signature], is_member: bool) -> Any:
    overloads = [
        cel.Overload(f"{name}_{i}", result, list(parameters), is_member, function)
        for i, (result, *parameters) in enumerate(signatures)
    ]
    return cel.FunctionDecl(name, overloads)
