"""Durations as Go writes them: `15s`, `1m30s`, `1.5h`, `300ms`."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,  # the Greek letter: Go takes both code points
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")
_MAX_NANOSECONDS: Final = 2**63 - 1


def parse_duration(text: str) -> timedelta:
    """Read a Go duration; raises ValueError with the words of Go's `time.ParseDuration`.

    A timedelta counts microseconds: what is shorter, but not zero, becomes one microsecond, so that a tiny time-out
    never turns into "no time-out".
    """
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return timedelta()
    if not unsigned:
        raise ValueError(f'time: invalid duration "{text}"')
    total = Fraction(0)
    position = 0
    while position < len(unsigned):
        part = _PART.match(unsigned, position)
        if part is None:
            raise ValueError(f'time: invalid duration "{text}"')
        number, unit = part.groups()
        if not unit:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if unit not in _NANOSECONDS:
            raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
        total += Fraction(number) * _NANOSECONDS[unit]
        position = part.end()
    if total > _MAX_NANOSECONDS:
        raise ValueError(f'time: invalid duration "{text}"')
    microseconds = int(total) // 1000
    if not microseconds and int(total):
        microseconds = 1
    return timedelta(microseconds=-microseconds if text.startswith("-") else microseconds)


def format_duration(duration: timedelta) -> str:
    """Write a duration as Go does: `0s`, `1.5s`, `1m0s`, `1h0m0s`, `250ms`, `40µs`."""
    microseconds = duration // timedelta(microseconds=1)
    sign, microseconds = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    if microseconds == 0:
        return "0s"
    if microseconds < 1000:
        return f"{sign}{microseconds}µs"
    if microseconds < 10**6:
        return f"{sign}{_decimal(microseconds, 10**3)}ms"
    minutes, rest = divmod(microseconds, 60 * 10**6)
    seconds = f"{_decimal(rest, 10**6)}s"
    if not minutes:
        return f"{sign}{seconds}"
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}h{minutes}m{seconds}" if hours else f"{sign}{minutes}m{seconds}"


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    fraction = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)
