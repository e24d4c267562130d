"""Go's math/rand, as programs seeded it before Go 1.20: the same numbers for the same seed.

It is an additive lagged Fibonacci generator, x[n] = x[n-607] + x[n-273] modulo 2**64, whose state is mixed with that of
another one after 7.8e12 steps. Go has those 607 numbers in a table; here they are computed: n steps are the power x**n
modulo the generator's polynomial, which takes 43 squarings.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence
from functools import cache
from typing import Any, Final

import numpy as np

LENGTH: Final = 607
TAP: Final = 273
STEPS: Final = 7_800_000_000_000
_MASK: Final = (1 << 64) - 1
_PRIME: Final = (1 << 31) - 1
_WRITTEN: Final = [(LENGTH - TAP - 1 - step) % LENGTH for step in range(LENGTH)]
"""The entries of the state in the order in which they are written."""


class GoRandom:
    """`rand.New(rand.NewSource(seed))`, as far as experiments need it."""

    def __init__(self, seed: int) -> None:
        self._state = [own ^ mixed for own, mixed in zip(_seeded(seed, 40, 20), _mixed(), strict=True)]
        self._tap, self._feed = 0, LENGTH - TAP

    def uint64(self) -> int:
        self._tap, self._feed = (self._tap - 1) % LENGTH, (self._feed - 1) % LENGTH
        value = self._state[self._feed] = (self._state[self._feed] + self._state[self._tap]) & _MASK
        return value

    def below(self, limit: int) -> int:
        """Intn."""
        if limit & (limit - 1) == 0:
            return self._int31() & (limit - 1)
        most = (1 << 31) - 1 - (1 << 31) % limit
        while (value := self._int31()) > most:
            pass
        return value % limit

    def permutation(self, length: int) -> list[int]:
        """Perm."""
        order = [0] * length
        for position in range(length):
            other = self.below(position + 1)
            order[position], order[other] = order[other], position
        return order

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle."""
        for last in range(len(items) - 1, 0, -1):
            product = self._uint32() * (last + 1)
            while product & 0xFFFFFFFF < (1 << 32) % (last + 1):
                product = self._uint32() * (last + 1)
            other = product >> 32
            items[last], items[other] = items[other], items[last]

    def _int31(self) -> int:
        return (self.uint64() >> 32) & 0x7FFFFFFF

    def _uint32(self) -> int:
        return (self.uint64() >> 31) & 0xFFFFFFFF


def _seeded(seed: int, high: int, low: int) -> list[int]:
    """A state from a linear congruential generator, three of its numbers for each entry."""
    numbers = _congruential(seed)
    return [next(numbers) << high ^ next(numbers) << low ^ next(numbers) for _ in range(LENGTH)]


def _congruential(seed: int) -> Iterator[int]:
    value = seed % _PRIME or 89482311
    for _ in range(20):
        value = value * 48271 % _PRIME
    while True:
        value = value * 48271 % _PRIME
        yield value


@cache
def _mixed() -> list[int]:
    """The state of the generator with seed 1 after all those steps."""
    power = np.array([1], np.uint64)
    for bit in f"{STEPS:b}":
        power = _reduced(np.convolve(power, power))
        if bit == "1":
            power = _reduced(np.concatenate((np.zeros(1, np.uint64), power)))
    start = _seeded(1, 20, 10)
    sequence = [start[entry] for entry in _WRITTEN]
    for step in range(LENGTH):
        sequence.append((sequence[step] + sequence[step + LENGTH - TAP]) & _MASK)
    values = np.array(sequence, np.uint64)
    state = [0] * LENGTH
    for step in range(LENGTH):
        state[_WRITTEN[(STEPS + step) % LENGTH]] = int((power * values[step : step + LENGTH]).sum())
    return state


def _reduced(polynomial: Any) -> Any:
    """Modulo x**607 - x**334 - 1, coefficients modulo 2**64."""
    while len(polynomial) > LENGTH:
        cut = max(LENGTH, len(polynomial) - TAP)
        top, polynomial = polynomial[cut:], polynomial[:cut].copy()
        polynomial[cut - LENGTH :][: len(top)] += top
        polynomial[cut - TAP :][: len(top)] += top
    return polynomial
