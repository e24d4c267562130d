"""CBOR as Kubernetes writes it (RFC 8949): behind its self-described tag, strings as byte strings, keys in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

SELF_DESCRIBED: Final = b"\xd9\xd9\xf7"
_NUMBER, _NEGATIVE, _STRING, _LIST, _MAP = 0, 1, 2, 4, 5


def encode(value: Any) -> bytes:
    """A document of mappings, lists, strings, whole numbers, booleans and nulls."""
    return SELF_DESCRIBED + _item(value)


def _item(value: Any) -> bytes:
    match value:
        case None:
            return b"\xf6"
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int():
            return _head(_NUMBER, value) if value >= 0 else _head(_NEGATIVE, -1 - value)
        case str():
            content = value.encode()
            return _head(_STRING, len(content)) + content
        case Mapping():
            pairs = sorted((_item(name), _item(content)) for name, content in value.items())
            return _head(_MAP, len(pairs)) + b"".join(name + content for name, content in pairs)
        case Sequence():
            return _head(_LIST, len(value)) + b"".join(map(_item, value))
    raise TypeError(f"no CBOR for {type(value).__name__}")


def _head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes([kind << 5 | number])
    for marker, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << (8 * size):
            return bytes([kind << 5 | marker]) + number.to_bytes(size, "big")
    raise OverflowError(f"{number} is too large for CBOR")
