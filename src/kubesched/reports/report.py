"""Several runs side by side: each policy's metrics over its seeds, and how the others differ from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any, Final

import msgspec

from kubesched.objects.base import Json
from kubesched.reports.metrics import losers, metrics_of, reasons, waiting_by
from kubesched.reports.run import RunResult

MOST_SPLITS: Final = 20_000
"""Of an exact permutation test; with more seeds than that allows, every k-th split stands for the others."""
SIGNIFICANT: Final = 0.05


class MovedPod(msgspec.Struct, kw_only=True, rename="camel"):
    """A pod that two policies place differently, with what each said of both nodes when it decided."""

    pod: str
    nodes: list[str]
    """Of the first policy, and of the other."""
    verdict: str
    """What made the difference, in one line."""
    scores: list[dict[str, dict[str, int]]]
    """Per policy: plugin -> node -> weighted score; `total` among the plugins. A node that was rejected is missing."""
    rejections: list[dict[str, str]]
    """Per policy: node -> why it was rejected."""


class Difference(msgspec.Struct, kw_only=True, rename="camel"):
    """One metric of a policy against the first one's."""

    metric: str
    before: float
    after: float
    unit: str
    is_better: bool | None
    """None where neither is better, or nothing has changed."""
    probability: float | None
    """That so large a difference is chance, by a permutation test over seeds; None with one seed each."""

    @property
    def is_more_than_chance(self) -> bool:
        return self.probability is not None and self.probability <= SIGNIFICANT


class Comparison(msgspec.Struct, kw_only=True, rename="camel"):
    """The second policy against the first, on the same trace."""

    first: str
    second: str
    differences: list[Difference]
    moved: int
    """Pods that both place, on different nodes; with the first seed."""
    placed_by_both: int
    only_first: list[str]
    """Pods that have a node under the first policy only."""
    only_second: list[str]
    explained: list[MovedPod] = []


class Report(msgspec.Struct, kw_only=True):
    """`runs` by policy, in the order in which they were asked for; each with one run per seed."""

    trace: str
    runs: dict[str, list[RunResult]]
    comparisons: list[Comparison] = []

    def metrics(self, name: str) -> dict[str, list[float]]:
        """A policy's metrics: name -> value per seed."""
        per_seed = [metrics_of(run) for run in self.runs[name]]
        return {metric: [found[metric].value for found in per_seed if metric in found] for metric in per_seed[0]}

    def as_data(self) -> Json:
        """The whole report for programs: plain data, as `-o json` prints it."""
        policies = {name: self._policy_data(runs) for name, runs in self.runs.items()}
        comparisons: Any = msgspec.to_builtins(self.comparisons)
        return {"trace": self.trace, "policies": policies, "comparisons": comparisons}

    def _repr_html_(self) -> str:
        from kubesched.reports.html import report_body  # not at the top: only notebooks and pages need it

        return report_body(self)

    def _policy_data(self, runs: Sequence[RunResult]) -> Json:
        first = runs[0]
        return {
            "seeds": [run.seed for run in runs],
            "hashes": [run.hash for run in runs],
            "metrics": {name: msgspec.to_builtins(metric) for name, metric in metrics_of(first).items()},
            "pendingTimeByNamespace": msgspec.to_builtins(waiting_by(first, lambda pod: pod.namespace)),
            "pendingTimeByPriority": msgspec.to_builtins(waiting_by(first, lambda pod: str(pod.priority))),
            "unschedulable": reasons(first),
            "preempted": losers(first),
            "spread": msgspec.to_builtins(first.spread),
            "samples": msgspec.to_builtins(first.samples),
            "pods": msgspec.to_builtins(first.pods),
        }


def compare_runs(first: Sequence[RunResult], second: Sequence[RunResult]) -> Comparison:
    """What the second policy's runs do differently. Both have at least one run, with the same seeds in order."""
    before, after = [metrics_of(run) for run in first], [metrics_of(run) for run in second]
    differences = []
    for name, metric in before[0].items():
        if name not in after[0]:
            continue
        old, new = [found[name].value for found in before], [found[name].value for found in after]
        change = sum(new) / len(new) - sum(old) / len(old)
        differences.append(
            Difference(
                metric=name,
                before=sum(old) / len(old),
                after=sum(new) / len(new),
                unit=metric.unit,
                is_better=change * metric.better > 0 if metric.better and change else None,
                probability=chance_of(old, new) if len(old) > 1 and len(new) > 1 else None,
            )
        )
    placed, also_placed = _placements(first[0]), _placements(second[0])
    return Comparison(
        first=first[0].name,
        second=second[0].name,
        differences=differences,
        moved=sum(also_placed.get(pod, node) != node for pod, node in placed.items()),
        placed_by_both=len(placed.keys() & also_placed.keys()),
        only_first=sorted(placed.keys() - also_placed.keys()),
        only_second=sorted(also_placed.keys() - placed.keys()),
    )


def chance_of(first: Sequence[float], second: Sequence[float]) -> float:
    """The probability that means differ as much as these do, or more, if both come from the same distribution.

    An exact permutation test: the share of all ways to split the values that differ as much. No assumption about the
    distribution, and none smaller than what so few values can show: four seeds each are the least for 5 %.
    """
    values = [*first, *second]
    total, size = sum(values), len(first)
    observed = abs(sum(first) / size - sum(second) / len(second))
    every = max(1, comb(len(values), size) // MOST_SPLITS)
    splits = extreme = 0
    for number, chosen in enumerate(combinations(values, size)):
        if number % every:
            continue
        splits += 1
        part = sum(chosen)
        difference = abs(part / size - (total - part) / len(second))
        extreme += difference >= observed - 1e-9 * max(observed, 1.0)
    return extreme / splits


def moved_pods(first: RunResult, second: RunResult, most: int) -> list[str]:
    """The first pods (by when they were bound under the first policy) that the two place differently."""
    other = _placements(second)
    bound = sorted(
        (pod for pod in first.scheduled_here() if pod.bound_at is not None), key=lambda p: (p.bound_at, p.pod)
    )
    return [pod.pod for pod in bound if other.get(pod.pod, pod.node) != pod.node][:most]


def _placements(run: RunResult) -> Mapping[str, str]:
    return {pod.pod: pod.node for pod in run.scheduled_here() if pod.bound_at is not None}
