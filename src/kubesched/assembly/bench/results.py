"""Figures of a run: a row for people, and scheduler_perf's dataItems for tools."""

from __future__ import annotations

import math
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

WINDOWS: Final = 20
"""Throughput's percentiles are taken over so many equal shares of the pods: a fast run is over before a second is."""


@dataclass(slots=True)
class Collected:
    """What one measured stretch of a workload gave. Times are seconds since its start."""

    name: str
    bound_at: list[float] = field(default_factory=list)
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def pods(self) -> int:
        return len(self.bound_at)

    @property
    def throughput(self) -> float:
        """Pods per second from the start to the last binding."""
        return self.pods / self.wall_seconds if self.wall_seconds > 0 else 0.0

    @property
    def pods_per_cpu_second(self) -> float:
        return self.pods / self.cpu_seconds if self.cpu_seconds > 0 else 0.0

    def percentiles(self) -> dict[str, float]:
        """Average and percentiles of the throughput over windows of equally many pods."""
        times = sorted(self.bound_at)
        size = max(1, len(times) // WINDOWS)
        edges = [0.0, *times[size - 1 :: size]]
        rates = sorted(size / max(end - start, 1e-9) for start, end in pairwise(edges))
        if not rates:
            return {}
        return {"Average": self.throughput} | {
            f"Perc{share}": rates[math.ceil(len(rates) * share / 100) - 1] for share in (50, 90, 95, 99)
        }


@dataclass(frozen=True, slots=True)
class Result:
    workload: str
    mode: str
    collected: Sequence[Collected]
    wall_seconds: float
    cpu_seconds: float
    peak_rss_mib: float
    problem: str = ""

    def data_items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for stretch in self.collected:
            labels = {"Name": self.workload, "Mode": self.mode, "Stage": stretch.name}
            throughput = {**labels, "Metric": "SchedulingThroughput"}
            items.append({"data": stretch.percentiles(), "unit": "pods/s", "labels": throughput})
            cost = {"CPU": stretch.cpu_seconds, "Wall": stretch.wall_seconds}
            items.append({"data": cost, "unit": "s", "labels": {**labels, "Metric": "Seconds"}})
        labels = {"Name": self.workload, "Mode": self.mode, "Metric": "PeakRSS"}
        items.append({"data": {"Max": self.peak_rss_mib}, "unit": "MiB", "labels": labels})
        return items


def peak_rss_mib() -> float:
    """The most memory that this process ever held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024
