"""The last half hour in numbers: throughput, pods that wait, latency, utilisation."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from kubesched.clock import Clock
from kubesched.objects import Pod
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.columns.node_table import STANDARD
from kubesched.scheduler.state.queue import SubQueue

INTERVAL: Final = 2.0
SAMPLES: Final = 900
MOST_LATENCIES: Final = 5000
"""Kept between two samples; of more, these are the last."""
FIELDS: Final = ("time", "placed", "waiting", "unschedulable", "p50", "p99", "cpu", "memory")


class Placements:
    """Counts pods that get a node, and how long each waited for it, in seconds."""

    def __init__(self) -> None:
        self.count = 0
        self._latencies: deque[float] = deque(maxlen=MOST_LATENCIES)

    def note(self, latency: float) -> None:
        self.count += 1
        self._latencies.append(latency)

    def take_latencies(self) -> list[float]:
        """Those since the last call."""
        taken = list(self._latencies)
        self._latencies.clear()
        return taken


def placements_seen(assembled: Assembled, clock: Clock) -> Placements:
    """Of a scheduler in another process: from now on, what its pods tell."""
    placements = Placements()

    def listen(old: Pod | None, new: Pod | None) -> None:
        if new is None or not new.spec.node_name or old is None or old.spec.node_name:
            return
        created = new.metadata.creation_timestamp
        placements.note(max(0.0, clock.time() - created.timestamp()) if created is not None else 0.0)

    assembled.objects.of(Pod).subscribe(listen)
    return placements


class History:
    """Samples at even intervals; the oldest are forgotten."""

    def __init__(self, assembled: Assembled, clock: Clock, placements: Placements) -> None:
        self._assembled = assembled
        self._clock = clock
        self._placements = placements
        self._before = placements.count
        self._samples: deque[tuple[float | None, ...]] = deque(maxlen=SAMPLES)

    def sample(self) -> None:
        """Call it every `INTERVAL` seconds."""
        placed, self._before = self._placements.count - self._before, self._placements.count
        latencies = self._placements.take_latencies()
        p50, p99 = np.percentile(latencies, (50, 99)).tolist() if latencies else (None, None)
        queue = self._assembled.queue.counts()
        waiting = sum(queue.values())
        cpu, memory = (self._utilisation(resource) for resource in range(2))
        unschedulable = queue.get(SubQueue.UNSCHEDULABLE, 0)
        self._samples.append(
            (self._clock.time(), placed / INTERVAL, waiting, unschedulable, p50, p99, cpu, memory),
        )

    def columns(self) -> Mapping[str, Any]:
        values = list(zip(*self._samples, strict=True)) or [()] * len(FIELDS)
        return dict(zip(FIELDS, values, strict=True))

    def _utilisation(self, resource: int) -> float | None:
        """The part of what all nodes offer that is requested."""
        assert resource < len(STANDARD)
        table = self._assembled.cache.cluster.nodes
        exists = table.exists[: len(table)]
        offered = int(table.allocatable[resource][: len(table)][exists].sum())
        return int(table.requested[resource][: len(table)][exists].sum()) / offered if offered else None
