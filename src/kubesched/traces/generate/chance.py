"""Amounts that are drawn: a fixed one, or one of a distribution. The same seed draws the same amounts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import accumulate
from random import Random
from typing import TypeAlias

from kubesched.config.duration import parse_duration
from kubesched.config.spec_file import SpecStruct
from kubesched.objects.quantity import Quantity

Text: TypeAlias = str | int | float
"""An amount as it is written: `500m`, `2Gi`, `10m`, 3."""
Parse: TypeAlias = Callable[[Text], float]


class LogNormal(SpecStruct, frozen=True):
    median: Text
    sigma: float


class Pareto(SpecStruct, frozen=True):
    least: Text
    shape: float


class Distribution(SpecStruct, frozen=True):
    """Exactly one of the first five. `least` and `most` bound what is drawn; it is a multiple of `step`."""

    choice: dict[str, float] | None = None
    """Values with their weights."""
    uniform: tuple[Text, Text] | None = None
    exponential: Text | None = None
    """Its mean."""
    lognormal: LogNormal | None = None
    pareto: Pareto | None = None
    least: Text | None = None
    most: Text | None = None
    step: Text | None = None


Amount: TypeAlias = str | int | float | Distribution


def quantity(text: Text) -> float:
    """Of a resource, in its unit: CPUs, bytes, pieces."""
    return Quantity.parse(text).nanos / 1e9


def seconds(text: Text) -> float:
    """A duration as Go writes it, or a number of seconds."""
    return float(text) if isinstance(text, int | float) else parse_duration(text).total_seconds()


def number(text: Text) -> float:
    return float(text)


def problem_of(amount: Amount, parse: Parse) -> str:
    """What is wrong with it; empty if it can be drawn from."""
    if not isinstance(amount, Distribution):
        return _problem(amount, parse)
    kinds = ("choice", "uniform", "exponential", "lognormal", "pareto")
    given = [kind for kind in kinds if getattr(amount, kind) is not None]
    if len(given) != 1:
        return f"expected one of {', '.join(kinds)}, got {' and '.join(given) or 'none'}"
    if amount.choice is not None and (min(amount.choice.values(), default=-1) < 0 or not sum(amount.choice.values())):
        return "the weights of a choice must be 0 or more, and not all 0"
    if amount.lognormal is not None and not amount.lognormal.sigma >= 0:
        return "sigma must be 0 or more"
    if amount.pareto is not None and not amount.pareto.shape > 0:
        return "shape must be greater than 0"
    if amount.step is not None and not _problem(amount.step, parse) and parse(amount.step) == 0:
        return "step must be greater than 0"
    return next((problem for text in _texts(amount) if (problem := _problem(text, parse))), "")


def draw(amount: Amount, parse: Parse, random: Random) -> float:
    """An amount, 0 or more. It must have no problem."""
    if not isinstance(amount, Distribution):
        return parse(amount)
    value = _draw(amount, parse, random)
    if amount.least is not None:
        value = max(value, parse(amount.least))
    if amount.most is not None:
        value = min(value, parse(amount.most))
    if amount.step is not None:
        step = parse(amount.step)
        value = max(step, round(value / step) * step)
    return value


def _draw(amount: Distribution, parse: Parse, random: Random) -> float:
    chance = random.random()
    if amount.choice is not None:
        weights = list(accumulate(amount.choice.values()))
        reached = next(index for index, weight in enumerate(weights) if weight > chance * weights[-1])
        return parse(list(amount.choice)[reached])
    if amount.uniform is not None:
        low, high = map(parse, amount.uniform)
        return low + chance * (high - low)
    if amount.exponential is not None:
        return -math.log1p(-chance) * parse(amount.exponential)
    if amount.lognormal is not None:
        return parse(amount.lognormal.median) * math.exp(random.gauss(0.0, amount.lognormal.sigma))
    assert amount.pareto is not None
    return float(parse(amount.pareto.least) * (1.0 - chance) ** (-1.0 / amount.pareto.shape))


def _texts(amount: Distribution) -> Iterator[Text]:
    yield from amount.choice or ()
    yield from amount.uniform or ()
    parts = (amount.exponential, amount.least, amount.most, amount.step)
    yield from (part for part in parts if part is not None)
    if amount.lognormal is not None:
        yield amount.lognormal.median
    if amount.pareto is not None:
        yield amount.pareto.least


def _problem(text: Text, parse: Parse) -> str:
    try:
        value = parse(text)
    except ValueError as error:
        return f"{text!r}: {error}"
    return "" if value >= 0 and math.isfinite(value) else f"{text!r} is no amount: it must be 0 or more"
