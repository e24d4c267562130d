"""The devices of one class, counted by row of the node table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kubesched.objects import DeviceClass
from kubesched.scheduler.columns import Integers, Rows
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker, PoolId

MatchingRows: TypeAlias = Rows | int
"""Rows of the node table, each once."""


@dataclass(slots=True)
class Part:
    """Devices of one slice that the same nodes reach. If one of them cannot be judged, those nodes have none."""

    rows: MatchingRows
    names: Sequence[str] = ()
    taken: int = 0
    is_judged: bool = True


class ClassTotals:
    """Sums over the parts of all slices."""

    def __init__(self, device_class: DeviceClass, rows: int) -> None:
        self.device_class = device_class
        self._devices: Integers = np.zeros(rows, dtype=np.int64)
        self._taken: Integers = np.zeros(rows, dtype=np.int64)
        self._unjudged: Integers = np.zeros(rows, dtype=np.int64)
        self._slices: dict[str, tuple[PoolId, list[Part]]] = {}
        self._pools: dict[PoolId, set[str]] = {}

    def at(self, rows: Rows) -> tuple[Integers, Integers]:
        """The devices on these rows, and how many of them are taken."""
        is_judged = self._unjudged[rows] == 0
        return self._devices[rows] * is_judged, self._taken[rows] * is_judged

    def add(self, slice_name: str, pool: PoolId, parts: list[Part]) -> None:
        self._slices[slice_name] = (pool, parts)
        self._pools.setdefault(pool, set()).add(slice_name)
        self._count(parts, +1)

    def drop(self, slice_name: str) -> None:
        """It is no error if the slice does not count."""
        pool, parts = self._slices.pop(slice_name, (None, []))
        self._count(parts, -1)
        if pool is not None:
            self._pools[pool].discard(slice_name)

    def recount(self, pools: Iterable[PoolId], tracker: ClaimTracker) -> None:
        """Devices of these pools were taken or given back."""
        for pool in pools:
            usage = tracker.usage(pool)
            for part in [part for name in self._pools.get(pool, ()) for part in self._slices[name][1]]:
                taken = usage.count(part.names)
                if taken != part.taken:
                    self._taken[part.rows] += taken - part.taken
                    part.taken = taken

    def _count(self, parts: Iterable[Part], sign: int) -> None:
        for part in parts:
            self._devices[part.rows] += sign * len(part.names)
            self._taken[part.rows] += sign * part.taken
            self._unjudged[part.rows] += sign * (not part.is_judged)
