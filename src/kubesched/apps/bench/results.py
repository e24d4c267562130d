"""Figures of a run, and scheduler_perf's dataItems of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

WINDOWS: Final = 20
"""Throughput's percentiles are taken over so many equal shares of the pods: a fast run is over before a second is."""

SHARES: Final = (50, 90, 95, 99)
NOT_APPLICABLE: Final = "not applicable"

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Collected:
    """What one measured stretch of a workload gave. Times are seconds since its start."""

    name: str
    bound_at: list[float] = field(default_factory=list)
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    durations: Mapping[Labels, Sequence[float]] = field(default_factory=dict)
    """Sorted seconds of attempts and extension points, by the labels of their dataItems."""

    @property
    def pods(self) -> int:
        return len(self.bound_at)

    @property
    def throughput(self) -> float:
        """Pods per second from the start to the last binding."""
        return self.pods / self.wall_seconds if self.wall_seconds > 0 else 0.0

    @property
    def cpu_per_pod(self) -> float:
        return self.cpu_seconds / self.pods if self.pods else 0.0

    @property
    def first_seconds(self) -> float:
        """From the start to the first binding: what the first sight of a template costs."""
        return min(self.bound_at, default=0.0)

    def cost(self) -> dict[str, float]:
        seconds = {"CPU": self.cpu_seconds, "Wall": self.wall_seconds, "First": self.first_seconds}
        return {**seconds, "Pods": float(self.pods)}

    def percentiles(self) -> dict[str, float]:
        """Average and percentiles of the throughput over windows of equally many pods; empty without pods."""
        times = sorted(self.bound_at)
        size = max(1, len(times) // WINDOWS)
        edges = [0.0, *times[size - 1 :: size]]
        rates = sorted(size / max(end - start, 1e-9) for start, end in pairwise(edges))
        if not rates:
            return {}
        return {"Average": self.throughput} | {f"Perc{share}": percentile(rates, share) for share in SHARES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One workload's run."""

    workload: str
    mode: str
    scheduler: str = "kubesched"
    collected: Sequence[Collected] = ()
    wall_seconds: float = 0.0
    peak_rss_mib: float = 0.0
    problem: str = ""
    """Why it did not run to its end, or missed what its file demands; empty if all is well."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Each stage's share of the measured CPU time, where that was asked for."""

    def data_items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for stretch in self.collected:
            labels = {"Name": f"{self.workload}/{stretch.name}", "Mode": self.mode, "Scheduler": self.scheduler}
            if throughput := stretch.percentiles():
                items.append(_item(throughput, "pods/s", {**labels, "Metric": "SchedulingThroughput"}))
            items.append(_item(stretch.cost(), "s", {**labels, "Metric": "Seconds"}))
            for names, seconds in stretch.durations.items():
                shares = {f"Perc{share}": percentile(seconds, share) * 1000 for share in SHARES}
                average = {"Average": sum(seconds) / len(seconds) * 1000}
                items.append(_item(average | shares, "ms", {**labels, **dict(names)}))
        memory = {"Name": self.workload, "Mode": self.mode, "Scheduler": self.scheduler, "Metric": "PeakRSS"}
        items.append(_item({"Max": self.peak_rss_mib}, "MiB", memory))
        return items


def data_items(results: Iterable[Result]) -> dict[str, Any]:
    """The document that scheduler_perf writes: every item has every label, as perf-dash wants it."""
    items = [item for result in results for item in result.data_items()]
    names = sorted({name for item in items for name in item["labels"]})
    for item in items:
        item["labels"] = {name: item["labels"].get(name, NOT_APPLICABLE) for name in names}
    return {"version": "v1", "dataItems": items}


def percentile(ascending: Sequence[float], share: int) -> float:
    """The smallest value that at least so many percent of the values do not exceed."""
    return ascending[max(0, math.ceil(len(ascending) * share / 100) - 1)]


def _item(data: Mapping[str, float], unit: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {"data": dict(data), "unit": unit, "labels": dict(labels)}
