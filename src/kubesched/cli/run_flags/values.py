"""Types of flag values as Go's pflag reads and shows them. A reader raises ValueError with Go's words."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Final

from kubesched.config.duration import format_duration, parse_duration

BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


@dataclass(frozen=True, kw_only=True)
class ValueType:
    """How a flag's text becomes a value, and a value text again."""

    name: str
    """As --help shows it after the flag; empty for booleans."""
    read: Callable[[str], Any]
    show: Callable[[Any], str] = str
    bare: str | None = None
    """What the flag means without a value (`--leader-elect`), if it may stand so."""
    merge: Callable[[Any, Any], Any] | None = None
    """How a second occurrence joins the first; without it the last one wins."""


def _bool(text: str) -> bool:
    if text not in BOOLEANS:
        raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
    return BOOLEANS[text]


def _int(bits: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f'strconv.ParseInt: parsing "{text}": value out of range')
        return value

    return read


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'strconv.ParseFloat: parsing "{text}": invalid syntax') from None


def _list(text: str) -> tuple[str, ...]:
    return tuple(next(csv.reader([text]))) if text else ()


def _int_list(text: str) -> tuple[int, ...]:
    return tuple(_int(32)(item.strip()) for item in text.split(",")) if text else ()


def _mapping(text: str) -> dict[str, str]:
    """`k=v`, where the rest may hold commas; several pairs as quoted CSV: `"m,l=a,b","m,k=c"`."""
    pairs = [text.strip('"')] if text.count("=") == 1 else next(csv.reader([text]), [])
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"{pair} must be formatted as key=value")
        found[key] = value
    return found


def _levels(text: str) -> dict[str, int]:
    found = {}
    for item in filter(None, text.split(",")):
        pattern, _, level = item.partition("=")
        if not pattern or not level.isdecimal():
            raise ValueError("syntax error: expect comma-separated list of filename=N")
        found[pattern.strip()] = int(level)
    return found


def _ip(text: str) -> str:
    """No host names, as kube-scheduler; empty means all interfaces."""
    try:
        return str(ip_address(text)) if text else ""
    except ValueError:
        raise ValueError(f'failed to parse IP: "{text}"') from None


def _version(text: str) -> str:
    if text not in ("true", "false", "raw"):
        raise ValueError("only true, false and raw are supported")
    return text


def _shown_list(values: tuple[object, ...]) -> str:
    return f"[{','.join(map(str, values))}]"


def _shown_pairs(values: dict[str, object]) -> str:
    return f"[{','.join(f'{key}={value}' for key, value in values.items())}]"


STRING: Final = ValueType(name="string", read=str)
IP: Final = ValueType(name="ip", read=_ip)
QUANTITY: Final = ValueType(name="quantity", read=str)
BOOL: Final = ValueType(name="", read=_bool, show=lambda value: str(value).lower(), bare="true")
INT: Final = ValueType(name="int", read=_int(64))
INT32: Final = ValueType(name="int32", read=_int(32))
FLOAT32: Final = ValueType(name="float32", read=_float, show=lambda value: f"{value:g}")
LEVEL: Final = ValueType(name="Level", read=_int(32))
DURATION: Final = ValueType(name="duration", read=parse_duration, show=format_duration)
STRINGS: Final = ValueType(name="strings", read=_list, show=_shown_list, merge=lambda old, new: (*old, *new))
INTS: Final = ValueType(name="int32Slice", read=_int_list, show=_shown_list, merge=lambda old, new: (*old, *new))
CERTIFICATES: Final = ValueType(
    name="namedCertKey", read=lambda text: (text,), show=_shown_list, merge=lambda old, new: (*old, *new)
)
MAPPING: Final = ValueType(name="stringToString", read=_mapping, show=_shown_pairs, merge=lambda old, new: old | new)
PATTERNS: Final = ValueType(
    name="pattern=N,...", read=_levels, show=lambda value: _shown_pairs(value)[1:-1], merge=lambda old, new: old | new
)
GATES: Final = ValueType(
    name="colonSeparatedMultimapStringString", read=str, merge=lambda old, new: ",".join(filter(None, (old, new)))
)
VERSION: Final = ValueType(name="version[=true]", read=_version, bare="true")


def seconds(amount: float) -> timedelta:
    """A default for the table."""
    return timedelta(seconds=amount)
