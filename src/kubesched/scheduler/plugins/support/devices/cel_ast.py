"""A checked CEL expression as a tree: read from the form in which the library hands it out (cel.expr.CheckedExpr)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_PRIMITIVES: Final = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN: Final = {1: "any", 2: "timestamp", 3: "duration"}


@dataclass(frozen=True, slots=True)
class Type:
    """`name` is a kind of CEL's (string, list, map, dyn, ...) or that of a type of its own."""

    name: str
    parameters: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class Literal:
    id: int
    value: str | bytes | None
    """None: a number, a bool or null."""
    is_false: bool = False
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Ident:
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    id: int
    operand: Expr
    field: str
    is_test: bool


@dataclass(frozen=True, slots=True)
class Call:
    id: int
    function: str
    target: Expr | None
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListExpr:
    id: int
    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MapExpr:
    id: int
    entries: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    id: int
    variables: tuple[str, ...]
    range: Expr
    accumulator: str
    initial: Expr
    condition: Expr
    step: Expr
    result: Expr


Expr: TypeAlias = Literal | Ident | Select | Call | ListExpr | MapExpr | Comprehension


@dataclass(frozen=True, slots=True)
class Checked:
    expr: Expr
    types: dict[int, Type]
    overloads: dict[int, tuple[str, ...]]
    """By call: the ids of the functions that it may mean."""


def decode(serialized: bytes) -> Checked:
    """From the library's `serialize`: a google.protobuf.Any around the expression."""
    (message,) = [value for number, value in _fields(serialized) if number == 2]
    types: dict[int, Type] = {}
    overloads: dict[int, tuple[str, ...]] = {}
    expr: Expr | None = None
    for number, value in _fields(_as_bytes(message)):
        if number == 2:
            key, reference = _entry(_as_bytes(value))
            overloads[key] = tuple(_text(v) for n, v in _fields(reference) if n == 3)
        elif number == 3:
            key, of_type = _entry(_as_bytes(value))
            types[key] = _type(of_type)
        elif number == 4:
            expr = _expr(_as_bytes(value))
    assert expr is not None, "an expression that was compiled has a tree"
    return Checked(expr, types, overloads)


def _expr(data: bytes) -> Expr:
    fields = dict(_fields(data))
    id_ = _as_int(fields.pop(2, 0))
    ((number, content),) = fields.items() or ((3, b""),)
    body = _as_bytes(content)
    if number == 3:
        return _literal(id_, body)
    if number == 4:
        return Ident(id_, "".join(_text(v) for n, v in _fields(body) if n == 1))
    if number == 5:
        parts = dict(_fields(body))
        return Select(id_, _expr(_as_bytes(parts[1])), _text(parts.get(2, b"")), bool(parts.get(3, 0)))
    if number == 6:
        pairs = list(_fields(body))
        targets = [_expr(_as_bytes(v)) for n, v in pairs if n == 1]
        function = "".join(_text(v) for n, v in pairs if n == 2)
        args = tuple(_expr(_as_bytes(v)) for n, v in pairs if n == 3)
        return Call(id_, function, targets[0] if targets else None, args)
    if number == 7:
        return ListExpr(id_, tuple(_expr(_as_bytes(v)) for n, v in _fields(body) if n == 1))
    if number == 8:
        entries = [dict(_fields(_as_bytes(v))) for n, v in _fields(body) if n == 2]
        pairs_ = [(_expr(_as_bytes(e[3])), _expr(_as_bytes(e[4]))) for e in entries if 3 in e]
        return MapExpr(id_, tuple(pairs_))
    return _comprehension(id_, body)


def _literal(id_: int, body: bytes) -> Literal:
    for number, value in _fields(body):
        if number in (6, 7):
            data = _as_bytes(value)
            return Literal(id_, data.decode() if number == 6 else data)
        if number == 2:
            return Literal(id_, None, is_false=not value)
        if number in (3, 4):
            return Literal(id_, None, number=_as_int(value))
    return Literal(id_, None)


def _comprehension(id_: int, body: bytes) -> Comprehension:
    parts = dict(_fields(body))
    variables = tuple(_text(parts[number]) for number in (1, 8) if number in parts)
    return Comprehension(
        id_,
        variables,
        range=_expr(_as_bytes(parts[2])),
        accumulator=_text(parts.get(3, b"")),
        initial=_expr(_as_bytes(parts[4])),
        condition=_expr(_as_bytes(parts[5])),
        step=_expr(_as_bytes(parts[6])),
        result=_expr(_as_bytes(parts[7])),
    )


def _type(data: bytes) -> Type:
    for number, value in _fields(data):
        if number == 3:
            return Type(_PRIMITIVES.get(_as_int(value), ""))
        if number == 4:
            return Type("wrapper")
        if number == 5:
            return Type(_WELL_KNOWN.get(_as_int(value), ""))
        if number in (6, 7):
            name = "list" if number == 6 else "map"
            return Type(name, tuple(_type(_as_bytes(v)) for _, v in _fields(_as_bytes(value))))
        if number in (9, 10):
            return Type(_text(value) if number == 9 else "parameter")
        if number == 14:
            pairs = list(_fields(_as_bytes(value)))
            name = "".join(_text(v) for n, v in pairs if n == 1)
            return Type(name, tuple(_type(_as_bytes(v)) for n, v in pairs if n == 2))
    return Type("dyn")


def _entry(data: bytes) -> tuple[int, bytes]:
    """Of a map from numbers to messages."""
    parts = dict(_fields(data))
    return _as_int(parts.get(1, 0)), _as_bytes(parts.get(2, b""))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Of a message in protobuf's wire format: (number, value)."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire, 0)
        if wire == _BYTES:
            length, at = _varint(data, at)
        yield tag >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7


def _as_bytes(value: int | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value


def _as_int(value: int | bytes) -> int:
    assert isinstance(value, int)
    return value


def _text(value: int | bytes) -> str:
    return _as_bytes(value).decode()
