"""Bring a decoded JSON object into the shape that its kind has, as decoding into Go structs does upstream."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from kubesched.cluster.apiserver.schema.fields import FieldType, Shape, Struct, struct
from kubesched.objects.quantity import Quantity

MOST_UNKNOWN: Final = 100
_INDEX: Final = re.compile(r"\[\d+\]")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_ZERO: Final[dict[Shape, Any]] = {Shape.INT32: 0, Shape.INT64: 0, Shape.NUMBER: 0, Shape.BOOLEAN: False}
_GO_NAMES: Final[dict[Shape, str]] = {
    Shape.STRING: "string",
    Shape.BYTES: "[]uint8",
    Shape.INT32: "int32",
    Shape.INT64: "int64",
    Shape.NUMBER: "float64",
    Shape.BOOLEAN: "bool",
    Shape.TIME: "string",
    Shape.MICRO_TIME: "string",
}


@dataclass(slots=True)
class Conformance:
    """What conforming found: fields that the kind does not have (dropped), and the first value of a wrong type.

    Of the unknown fields, the first hundred are named, as upstream's strict decoder does.
    """

    unknown: list[str] = field(default_factory=list)
    wrong: str = ""


def conform(struct_name: str, value: dict[str, Any]) -> Conformance:
    """Drop, in place, nulls and fields that the struct does not have, and write quantities in their canonical form."""
    found = Conformance()
    _conform_struct(struct(struct_name), value, "", found)
    return found


def _conform_struct(kind: Struct, value: dict[str, Any], path: str, found: Conformance) -> None:
    known = kind.fields
    dropped: list[str] | None = None
    for key, item in value.items():
        wanted = known.get(key)
        if wanted is None:
            if len(found.unknown) < MOST_UNKNOWN:
                found.unknown.append(f"{path}{key}")
        elif item is not None:
            if wanted.shape is Shape.STRING and type(item) is str:
                continue
            if wanted.shape is Shape.QUANTITY:
                value[key] = _canonical(item, found)  # the key exists: the dict keeps its size
            else:
                _conform_field(wanted, kind, item, f"{path}{key}", found)
            continue
        dropped = dropped or []
        dropped.append(key)
    for key in dropped or ():
        del value[key]


def _conform_field(wanted: FieldType, owner: Struct, value: Any, path: str, found: Conformance) -> None:
    match wanted.shape:
        case Shape.STRUCT:
            if isinstance(value, dict):
                inner = wanted.struct
                assert inner is not None
                _conform_struct(inner, value, f"{path}.", found)
            else:
                _mismatch(wanted, owner, value, path, found)
        case Shape.LIST:
            if isinstance(value, list):
                _conform_list(wanted, owner, value, path, found)
            else:
                _mismatch(wanted, owner, value, path, found)
        case Shape.MAP:
            if isinstance(value, dict):
                _conform_map(wanted, owner, value, path, found)
            else:
                _mismatch(wanted, owner, value, path, found)
        case shape:
            if not _CHECKS[shape](value):
                _mismatch(wanted, owner, value, path, found)


def _conform_list(wanted: FieldType, owner: Struct, value: list[Any], path: str, found: Conformance) -> None:
    item_type = wanted.item
    assert item_type is not None
    for index, item in enumerate(value):
        if item is None:
            value[index] = {} if item_type.shape is Shape.STRUCT else _ZERO.get(item_type.shape, "")  # as in Go
        else:
            _conform_field(item_type, owner, item, f"{path}[{index}]", found)


def _conform_map(wanted: FieldType, owner: Struct, value: dict[str, Any], path: str, found: Conformance) -> None:
    item_type = wanted.item
    assert item_type is not None
    for key in [key for key, item in value.items() if item is None]:
        value[key] = "" if item_type.shape is Shape.STRING else None
        if value[key] is None:
            del value[key]
    for key, item in value.items():
        if item_type.shape is Shape.STRING and type(item) is str:
            continue
        if item_type.shape is Shape.QUANTITY:
            value[key] = _canonical(item, found)
        else:
            _conform_field(item_type, owner, item, f"{path}.{key}", found)


def _canonical(value: Any, found: Conformance) -> Any:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return str(Quantity.parse(value))
        except ValueError as error:
            found.wrong = found.wrong or str(error)
    found.wrong = found.wrong or f"json: cannot unmarshal {_json_name(value)} into a quantity"
    return value


def _mismatch(wanted: FieldType, owner: Struct, value: Any, path: str, found: Conformance) -> None:
    if found.wrong:
        return
    if wanted.shape in (Shape.TIME, Shape.MICRO_TIME) and isinstance(value, str):
        layout = "2006-01-02T15:04:05.000000Z07:00" if wanted.shape is Shape.MICRO_TIME else "2006-01-02T15:04:05Z07:00"
        found.wrong = f'parsing time "{value}" as "{layout}": cannot parse "{value}"'
    else:
        where = f"{owner.go_name}.{_INDEX.sub('', path)}"
        found.wrong = (
            f"json: cannot unmarshal {_json_name(value)} into Go struct field {where} of type {_go_name(wanted)}"
        )


def _go_name(wanted: FieldType) -> str:
    match wanted.shape:
        case Shape.STRUCT:
            package, _, name = wanted.struct_name.rpartition(".")
            return f"{package.rpartition('.')[2]}.{name}"
        case Shape.LIST:
            assert wanted.item is not None
            return f"[]{_go_name(wanted.item)}"
        case Shape.MAP:
            assert wanted.item is not None
            return f"map[string]{_go_name(wanted.item)}"
        case shape:
            return _GO_NAMES.get(shape, str(shape.value))


def _json_name(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if isinstance(value, float) or abs(value) > 2**31 else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _is_integer(value: Any, bits: int) -> bool:
    return type(value) is int and -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and (not value or _TIME.fullmatch(value) is not None)


_CHECKS: Final[dict[Shape, Callable[[Any], bool]]] = {
    Shape.STRING: lambda value: isinstance(value, str),
    Shape.BYTES: lambda value: isinstance(value, str),
    Shape.INT32: lambda value: _is_integer(value, 32),
    Shape.INT64: lambda value: _is_integer(value, 64),
    Shape.NUMBER: lambda value: type(value) is int or type(value) is float,
    Shape.BOOLEAN: lambda value: isinstance(value, bool),
    Shape.INT_OR_STRING: lambda value: isinstance(value, str) or type(value) is int,
    Shape.TIME: _is_time,
    Shape.MICRO_TIME: _is_time,
    Shape.ANY: lambda value: True,
}
