"""Prometheus' native histograms: buckets that grow by a constant factor, kept only where something was observed.

As component-base sets them up with the gate NativeHistograms: factor 1.1, at most 160 buckets. Beside the classic
buckets, and only in the protobuf format.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import frexp
from typing import Final

ZERO_THRESHOLD: Final = 2.0**-128
"""What is not above it counts as zero (DefNativeHistogramZeroThreshold)."""
FIRST_SCHEMA: Final = 3
"""2^(2^-3) = 1.09: the widest resolution whose factor is not above 1.1."""
MOST_BUCKETS: Final = 160
LONGEST_GAP: Final = 2
"""Fewer empty buckets than a new span costs are written out (makeBuckets)."""

_FRACTIONS: Final = {schema: [0.5 * 2 ** (step / 2**schema) for step in range(2**schema)] for schema in range(1, 9)}


@dataclass(frozen=True, kw_only=True)
class NativeBuckets:
    """What is shown: spans of buckets as (offset, length), and the counts as differences to the bucket before."""

    schema: int
    zero_count: int
    spans: Sequence[tuple[int, int]]
    deltas: Sequence[int]


@dataclass
class SparseCounts:
    """The counts of one series. Halves its resolution when there are too many buckets."""

    schema: int = FIRST_SCHEMA
    zero_count: int = 0
    counts: dict[int, int] = field(default_factory=dict)

    def observe(self, value: float, times: int = 1) -> None:
        if not value > ZERO_THRESHOLD:
            self.zero_count += times
            return
        key = bucket_of(value, self.schema)
        self.counts[key] = self.counts.get(key, 0) + times
        while len(self.counts) > MOST_BUCKETS:
            self._halve()

    def shown(self, counts: Iterable[tuple[int, int]]) -> NativeBuckets:
        spans: list[tuple[int, int]] = []
        deltas: list[int] = []
        following, previous = 0, 0
        for key, count in sorted(counts):
            gap = key - following
            if not spans or gap > LONGEST_GAP:
                spans.append((gap, 0))
            else:
                for _ in range(gap):
                    deltas.append(-previous)
                    previous = 0
                spans[-1] = (spans[-1][0], spans[-1][1] + gap)
            spans[-1] = (spans[-1][0], spans[-1][1] + 1)
            deltas.append(count - previous)
            following, previous = key + 1, count
        return NativeBuckets(schema=self.schema, zero_count=self.zero_count, spans=spans, deltas=deltas)

    def _halve(self) -> None:
        wider: dict[int, int] = {}
        for key, count in self.counts.items():
            wider[(key + 1) // 2] = wider.get((key + 1) // 2, 0) + count
        self.schema, self.counts = self.schema - 1, wider


def bucket_of(value: float, schema: int) -> int:
    """The number of the bucket of a positive value: bucket k ends at 2^(k·2^-schema)."""
    fraction, exponent = frexp(value)
    if schema > 0:
        fractions = _FRACTIONS[schema]
        return bisect_left(fractions, fraction) + (exponent - 1) * len(fractions)
    exponent -= fraction == 0.5
    return (exponent + (1 << -schema) - 1) >> -schema
