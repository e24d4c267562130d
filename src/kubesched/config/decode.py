"""Strict decoding of plain data into structs: every problem is collected with its path, none stops the work.

The rules are those of Kubernetes' strict decoder: field names are case-sensitive, an unknown or repeated field is an
error, `null` means absent, and a required field that is missing gets its type's zero value (validation will object).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from msgspec import inspect

from kubesched.config.document import Document, kind_of
from kubesched.config.duration import parse_duration
from kubesched.config.field_errors import invalid
from kubesched.objects.quantity import Quantity

StructT = TypeVar("StructT", bound=msgspec.Struct)
ValueT = TypeVar("ValueT")


class StrictDecoder:
    """Decodes one document. `problems` grows while decoding; the result is usable only if it stays empty."""

    Hook: TypeAlias = Callable[["StrictDecoder", dict[str, Any], str], Any]

    def __init__(self, hooks: Mapping[type, Hook] | None = None, *, lenient: bool = False) -> None:
        """`hooks` decode structs whose shape hangs on their content, instead of the general way.

        A lenient decoder takes unknown fields as nothing worse than a `note`.
        """
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._lenient = lenient
        self._hooks = dict(hooks or {})

    def struct(
        self, raw: Mapping[str, Any], struct: type[StructT], path: str = "", *, ignore: tuple[str, ...] = ()
    ) -> StructT:
        """Decode a mapping into a struct; keys in `ignore` are known, and not the struct's business."""
        info = _struct_info(struct)
        known = {field.encode_name for field in info.fields}
        for name in sorted(raw.keys() - known - set(ignore)):
            if self._lenient:
                self.notes.append(f'unknown field "{child(path, name)}" is ignored')
            else:
                self.problems.append(f'strict decoding error: unknown field "{child(path, name)}"')
        if isinstance(raw, Document):
            for name in raw.duplicates:
                self.problems.append(f'strict decoding error: duplicate field "{child(path, name)}"')
        values: dict[str, Any] = {}
        for field in info.fields:
            value = raw.get(field.encode_name)
            if value is not None:
                values[field.name] = self._value(value, field.type, child(path, field.encode_name))
            elif field.required:
                values[field.name] = _zero(field.type)
        return struct(**values)

    def _value(self, value: Any, expected: inspect.Type, path: str) -> Any:
        match expected:
            case inspect.UnionType(types=types):
                return self._value(value, next(kind for kind in types if not isinstance(kind, inspect.NoneType)), path)
            case inspect.StructType(cls=cls):
                if not isinstance(value, dict):
                    return self._wrong(value, expected, path)
                hook = self._hooks.get(cls)
                return hook(self, value, path) if hook else self.struct(value, cls, path)
            case inspect.VarTupleType(item_type=item_type):
                if not isinstance(value, list):
                    return self._wrong(value, expected, path)
                return tuple(
                    _zero(item_type) if item is None else self._value(item, item_type, f"{path}[{index}]")
                    for index, item in enumerate(value)
                )
            case inspect.DictType(value_type=value_type):
                if not isinstance(value, dict):
                    return self._wrong(value, expected, path)
                return {key: self._value(item, value_type, child(path, key)) for key, item in value.items()}
            case _:
                return self._scalar(value, expected, path)

    def _scalar(self, value: Any, expected: inspect.Type, path: str) -> Any:
        match expected:
            case inspect.IntType(ge=low, le=high) if _is_whole(value):
                value = int(value)
                if (low is not None and value < low) or (high is not None and value > high):
                    self.problems.append(invalid(path, value, f"not in valid range [{low}, {high}]"))
                return value
            case inspect.FloatType() if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
            case inspect.BoolType() if isinstance(value, bool):
                return value
            case inspect.StrType() if isinstance(value, str):
                return value
            case inspect.BytesType() if isinstance(value, str):
                return self._parsed(value, _from_base64, b"", path)
            case inspect.TimeDeltaType() if isinstance(value, str):
                return self._parsed(value, parse_duration, timedelta(), path)
            case inspect.CustomType(cls=cls) if cls is Quantity and isinstance(value, str | int | float):
                return self._parsed(str(value), Quantity.parse, Quantity.ZERO, path)
            case inspect.AnyType():
                return value
        return self._wrong(value, expected, path)

    def _parsed(self, text: str, parse: Callable[[str], ValueT], fallback: ValueT, path: str) -> ValueT:
        try:
            return parse(text)
        except ValueError as error:
            self.problems.append(invalid(path, text, str(error)))
            return fallback

    def _wrong(self, value: Any, expected: inspect.Type, path: str) -> Any:
        shown = kind_of(value) if isinstance(value, dict | list) else value
        self.problems.append(invalid(path, shown, f"must be of type {_json_type(expected)}"))
        return _zero(expected)


def _is_whole(value: Any) -> bool:
    """Whether JSON would show an integer: 2.0 and 1e3 are 2 and 1000 there."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1


def child(path: str, name: str) -> str:
    """The path of a field inside `path`."""
    return f"{path}.{name}" if path else name


@cache
def _struct_info(struct: type[msgspec.Struct]) -> inspect.StructType:
    return cast(inspect.StructType, inspect.type_info(struct))


def _zero(kind: inspect.Type) -> Any:
    """What Go leaves in a field of this type that the file does not set."""
    match kind:
        case inspect.StructType(cls=cls):
            return StrictDecoder().struct({}, cls)
        case inspect.StrType():
            return ""
        case inspect.BoolType():
            return False
        case inspect.IntType() | inspect.FloatType():
            return 0
        case inspect.BytesType():
            return b""
        case inspect.TimeDeltaType():
            return timedelta()
        case inspect.VarTupleType():
            return ()
        case inspect.DictType():
            return {}
    return None


def _json_type(kind: inspect.Type) -> str:
    match kind:
        case inspect.BoolType():
            return "boolean"
        case inspect.IntType():
            return "integer"
        case inspect.FloatType():
            return "number"
        case inspect.VarTupleType():
            return "array"
        case inspect.StructType() | inspect.DictType():
            return "object"
        case inspect.TimeDeltaType():
            return 'duration (for example "15s")'
    return "string"


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"illegal base64 data: {error}") from error
