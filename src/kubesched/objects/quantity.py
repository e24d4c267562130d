"""Quantity: an exact amount of a resource, parsed, rounded and printed as Kubernetes does (resource.Quantity)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar, Final, Literal

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_NANOS_PER_UNIT: Final = 10**9
_NANOS_PER_MILLI: Final = 10**6
_NANO_SCALE: Final = -9
_INT64_MAX: Final = (1 << 63) - 1
# Go keeps 1e1000000 as a mantissa and an exponent. Nothing can be asked of such a number there either: its value
# overflows to 0. It is refused here, before it becomes an integer of a megabyte. (Small exponents are
# cut at the same size, which changes nothing: Python reads numbers of up to 4300 digits, so it is below a nano anyway.)
_LARGEST_EXPONENT: Final = 5000

_FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NUMERIC_WRONG: Final = "unable to parse numeric part of quantity"
_SUFFIX_WRONG: Final = "unable to parse quantity's suffix"

_SHAPE: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
_DECIMAL_SUFFIXES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF: Final = ("", *_BINARY_SUFFIXES)


class Quantity:
    """An immutable amount, exact to a billionth (nano).

    Two quantities are equal if their amounts are: 1 == 1000m, and 1Gi == 1073741824.

    Kubernetes holds an amount as a scaled int64 where it fits, else as a big decimal, and the two treat overflow
    differently. `_scale` is the decimal exponent of the int64 form; None stands for the big decimal.
    """

    __slots__ = ("_format", "_nanos", "_scale", "text")

    ZERO: ClassVar[Quantity]

    def __init__(self, nanos: int, scale: int | None, number_format: Format, text: str = "") -> None:
        self._nanos = nanos
        self._scale = scale
        self._format = number_format
        self.text = text or _canonical(nanos, number_format)
        """The canonical form, or what was parsed where Kubernetes keeps that."""

    @staticmethod
    def parse(source: str | int | float) -> Quantity:
        """The quantity written as `source` ("100m", "1.5Gi", "1e3", 2). ValueError with Kubernetes' message if none."""
        return parse_quantity(source if type(source) is str else str(source))

    @classmethod
    def of(cls, value: int, number_format: Format = "DecimalSI") -> Quantity:
        """`value` whole units."""
        return cls(value * _NANOS_PER_UNIT, 0, number_format)

    @classmethod
    def of_milli(cls, value: int, number_format: Format = "DecimalSI") -> Quantity:
        """`value` thousandths of a unit."""
        return cls(value * _NANOS_PER_MILLI, -3, number_format)

    @property
    def number_format(self) -> Format:
        """How it is written."""
        return self._format

    def value(self) -> int:
        """Whole units, rounded up (away from zero)."""
        return self._at_scale(0)

    def milli_value(self) -> int:
        """Thousandths of a unit, rounded up (away from zero)."""
        return self._at_scale(-3)

    def is_zero(self) -> bool:
        return self._nanos == 0

    @property
    def nanos(self) -> int:
        """The exact amount, in billionths."""
        return self._nanos

    @property
    def scale(self) -> int | None:
        """The decimal exponent of the unit in which Kubernetes holds the amount; None where it needs a big decimal."""
        return self._scale

    def _at_scale(self, scale: Literal[0, -3]) -> int:
        """The amount in units of 10^scale, rounded away from zero. Beyond int64, the number that Kubernetes gets."""
        whole, rest = divmod(abs(self._nanos), _NANOS_PER_UNIT if scale == 0 else _NANOS_PER_MILLI)
        whole += rest > 0
        if whole <= _INT64_MAX:
            return whole if self._nanos >= 0 else -whole
        # positiveScaleInt64 multiplies at once (and wraps around) for these distances, and else in steps of ten,
        # giving up with 0. Big decimals wrap around.
        if self._scale is not None and self._scale - scale not in (1, 2, 3, 6, 9):
            return 0
        result = whole if self._nanos >= 0 else -whole
        return (result + _INT64_MAX + 1) % (1 << 64) - _INT64_MAX - 1

    def __add__(self, other: Quantity) -> Quantity:
        return self._plus(other, other._nanos)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._plus(other, -other._nanos)

    def times(self, factor: Quantity) -> Quantity:
        """The product, in this quantity's format. Less than a billionth is rounded up."""
        nanos = -(-self._nanos * factor._nanos // _NANOS_PER_UNIT)
        return Quantity(nanos, None, self._format)

    def __neg__(self) -> Quantity:
        return Quantity(-self._nanos, self._scale, self._format)

    def _plus(self, other: Quantity, other_nanos: int) -> Quantity:
        nanos = self._nanos + other_nanos
        number_format = self._format if self._nanos else other._format
        return Quantity(nanos, self._common_scale(other, nanos), number_format)

    def _common_scale(self, other: Quantity, total: int) -> int | None:
        if self._scale is None or other._scale is None:
            return None
        if not other._nanos:
            return self._scale
        if not self._nanos:
            return other._scale
        scale = min(self._scale, other._scale)
        unit = 10 ** (scale - _NANO_SCALE)
        fits = all(abs(amount) // unit <= _INT64_MAX for amount in (self._nanos, other._nanos, total))
        return scale if fits else None

    def __eq__(self, other: object) -> bool:
        return self._nanos == other._nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._nanos)

    def __lt__(self, other: Quantity) -> bool:
        return self._nanos < other._nanos

    def __le__(self, other: Quantity) -> bool:
        return self._nanos <= other._nanos

    def __gt__(self, other: Quantity) -> bool:
        return self._nanos > other._nanos

    def __ge__(self, other: Quantity) -> bool:
        return self._nanos >= other._nanos

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


Quantity.ZERO = Quantity(0, 0, "DecimalSI", "0")


@lru_cache(maxsize=65536)
def parse_quantity(text: str) -> Quantity:
    """`Quantity.parse` of a text (ParseQuantity), remembered: a cluster writes the same few amounts over and over."""
    text = text.strip()
    shape = _SHAPE.fullmatch(text)
    if not text or shape is None:
        raise ValueError(_FORMAT_WRONG)
    sign, whole, fraction, suffix = shape[1], shape[2].lstrip("0") or "0", shape[3] or "", shape[4]
    if suffix in _BINARY_SUFFIXES:
        quantity = _binary(whole, fraction, _BINARY_SUFFIXES[suffix], text)
    else:
        quantity = _decimal(whole, fraction, suffix, text)
    if quantity is None:
        if not (shape[2] or fraction):
            raise ValueError(_NUMERIC_WRONG)
        quantity = _big(whole, fraction, suffix)
    if sign != "-":
        return quantity
    kept = text if quantity.text == text else ""
    return Quantity(-quantity._nanos, quantity._scale, quantity._format, kept)


def _decimal(whole: str, fraction: str, suffix: str, text: str) -> Quantity | None:
    """The amount in int64 form, or None if it needs the big decimal."""
    exponent, number_format = _decimal_exponent(suffix)
    scale = exponent - len(fraction)
    if len(whole) + len(fraction) > 18 or scale < _NANO_SCALE:
        return None
    digits = whole + fraction
    keeps_text = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(int(digits) * 10 ** (scale - _NANO_SCALE), scale, number_format, text if keeps_text else "")


def _decimal_exponent(suffix: str) -> tuple[int, Format]:
    if suffix in _DECIMAL_SUFFIXES:
        return _DECIMAL_SUFFIXES[suffix], "DecimalSI"
    written = _EXPONENT.fullmatch(suffix)
    if written is None or len(written[1]) > 19:
        raise ValueError(_SUFFIX_WRONG)
    exponent = int(written[1])
    if exponent > _LARGEST_EXPONENT:
        raise ValueError(f"{_NUMERIC_WRONG}: its exponent is larger than {_LARGEST_EXPONENT}")
    return max(exponent, -_LARGEST_EXPONENT), "DecimalExponent"


def _binary(whole: str, fraction: str, exponent: int, text: str) -> Quantity | None:
    """The amount in int64 form, or None if it needs the big decimal."""
    if fraction or 15 - len(whole) - exponent * 3 // 10 - 1 < 0:
        return None
    number = int(whole)
    keeps_text = number & 0x07 != 0
    return Quantity((number << exponent) * _NANOS_PER_UNIT, 0, "BinarySI", text if keeps_text else "")


def _big(whole: str, fraction: str, suffix: str) -> Quantity:
    """The amount as a big decimal: rounded up to a nano, and binary amounts capped at the largest int64."""
    try:
        digits = int(whole + fraction)
    except ValueError:  # Python converts at most 4300 digits
        raise ValueError(_NUMERIC_WRONG) from None
    number_format: Format = "BinarySI"
    if suffix in _BINARY_SUFFIXES:
        digits <<= _BINARY_SUFFIXES[suffix]
        exponent = 0
    else:
        exponent, number_format = _decimal_exponent(suffix)
    shift = exponent - len(fraction) - _NANO_SCALE
    nanos = digits * 10**shift if shift >= 0 else -(-digits // 10**-shift)
    if number_format == "BinarySI":
        nanos = min(nanos, _INT64_MAX * _NANOS_PER_UNIT)
        if 0 < nanos < _NANOS_PER_UNIT:
            number_format = "DecimalSI"
    return Quantity(nanos, None, number_format)


def _canonical(nanos: int, number_format: Format) -> str:
    """Quantity.CanonicalizeBytes: no fraction, the largest suffix that keeps the amount exact."""
    if not nanos:
        return "0"
    units, rest = divmod(nanos, _NANOS_PER_UNIT)
    if number_format == "BinarySI" and not rest and abs(units) >= 1024:
        power = 0
        while units % 1024 == 0 and power < len(_BINARY_SUFFIX_OF) - 1:
            units //= 1024
            power += 1
        return f"{units}{_BINARY_SUFFIX_OF[power]}"
    exponent = _NANO_SCALE
    while nanos % 1000 == 0 and (number_format == "DecimalExponent" or exponent < 18):
        nanos //= 1000
        exponent += 3
    if number_format == "DecimalExponent":
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    return f"{nanos}{_DECIMAL_SUFFIX_OF[exponent]}"
