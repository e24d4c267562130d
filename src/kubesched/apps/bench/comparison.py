"""Several schedulers on the same workloads: the typical figures of each, and how ours compares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from kubesched.apps.bench.results import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Typical:
    """One scheduler's medians over all rounds of a workload."""

    workload: str
    scheduler: str
    throughput: float
    cpu_seconds: float
    peak_rss_mib: float

    def over(self, other: Typical) -> tuple[float | None, float | None, float | None]:
        """How many times the other's throughput, CPU time and memory; None where the other has none."""
        return (
            _ratio(self.throughput, other.throughput),
            _ratio(self.cpu_seconds, other.cpu_seconds),
            _ratio(self.peak_rss_mib, other.peak_rss_mib),
        )


def compared(results: Iterable[Result]) -> list[list[Typical]]:
    """For each workload the schedulers in the order of their first runs. Runs with a problem do not count."""
    runs: dict[str, dict[str, list[Result]]] = {}
    for result in results:
        if not result.problem and result.collected:
            runs.setdefault(result.workload, {}).setdefault(result.scheduler, []).append(result)
    return [[_typical(rounds) for rounds in by_scheduler.values()] for by_scheduler in runs.values()]


def _typical(rounds: Sequence[Result]) -> Typical:
    return Typical(
        workload=rounds[0].workload,
        scheduler=rounds[0].scheduler,
        throughput=median(min(stretch.throughput for stretch in result.collected) for result in rounds),
        cpu_seconds=median(sum(stretch.cpu_seconds for stretch in result.collected) for result in rounds),
        peak_rss_mib=median(result.peak_rss_mib for result in rounds),
    )


def _ratio(mine: float, theirs: float) -> float | None:
    return mine / theirs if theirs else None
