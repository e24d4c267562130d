"""What simulated nodes and pods use, for the metrics API.

A pod uses what it requests, unless its annotation says otherwise; a node uses what its pods do, and what its own
annotation says besides:

    kubesched.io/usage: cpu=250m,memory=1Gi          amounts
    kubesched.io/usage: cpu=60%                      a share of what a container requests, or of what a node offers
    kubesched.io/usage: cpu=20%..80%/10m             a curve: from the first to the second and back in ten minutes
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kubesched.config.duration import parse_duration
from kubesched.objects.quantity import Quantity

USAGE: Final = "kubesched.io/usage"
RESOURCES: Final = ("cpu", "memory")
_NANO: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Level:
    """An amount, or a share of what is requested (or offered)."""

    amount: float = 0.0
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Curve:
    """From `low` to `high` and back within `period` seconds; all curves of one period are at `low` together."""

    low: Level
    high: Level
    period: float = 0.0

    def at(self, now: float) -> Level:
        if not self.period:
            return self.low
        risen = (1 - math.cos(2 * math.pi * now / self.period)) / 2
        return Level(
            self.low.amount + risen * (self.high.amount - self.low.amount),
            self.low.share + risen * (self.high.share - self.low.share),
        )


AS_REQUESTED: Final = Curve(Level(share=1.0), Level(share=1.0))


@lru_cache(maxsize=4096)
def parse_usage(text: str) -> Mapping[str, Curve]:
    """The curves by resource; ValueError for a text that is none of the forms above."""
    curves = {}
    for part in filter(None, (item.strip() for item in text.split(","))):
        name, is_there, value = part.partition("=")
        if not is_there or name not in RESOURCES:
            raise ValueError(f"{USAGE}: {part!r} is not cpu=... or memory=...")
        curves[name] = _curve(value)
    return curves


def curves_of(annotations: Mapping[str, str]) -> Mapping[str, Curve]:
    """What the annotation says; nothing if it cannot be read."""
    text = annotations.get(USAGE, "")
    try:
        return parse_usage(text) if text else {}
    except ValueError:
        return {}


def amount_of(quantity: Quantity) -> float:
    return quantity.nanos / _NANO


def _curve(text: str) -> Curve:
    levels, _, period = text.partition("/")
    low, has_high, high = levels.partition("..")
    if bool(has_high) != bool(period):
        raise ValueError(f"{USAGE}: {text!r}: a curve is low..high/period")
    if not has_high:
        return Curve(_level(low), _level(low))
    seconds = parse_duration(period).total_seconds()
    if seconds <= 0:
        raise ValueError(f"{USAGE}: {text!r}: the period must be greater than 0")
    return Curve(_level(low), _level(high), seconds)


def _level(text: str) -> Level:
    if text.endswith("%"):
        share = float(text.removesuffix("%")) / 100
        if not 0 <= share < math.inf:
            raise ValueError(f"{USAGE}: {text!r} is not a share")
        return Level(share=share)
    amount = amount_of(Quantity.parse(text))
    if amount < 0:
        raise ValueError(f"{USAGE}: {text!r} is below zero")
    return Level(amount=amount)
