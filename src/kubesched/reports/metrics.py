"""One run's outcome in numbers: what a policy cost the pods, and how it used the nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from kubesched.reports.run import PodOutcome, RunResult

_COUNT_OF_NODES: Final = re.compile(r"\b\d+/\d+ nodes are available: ")
MOST_GROUPS: Final = 10


class Metric(msgspec.Struct, frozen=True):
    """A number with its unit. `better` is -1 where less is better, +1 where more is, 0 where neither is."""

    value: float
    unit: str = ""
    better: int = 0


class WaitingTimes(msgspec.Struct, frozen=True):
    """Seconds from arrival to binding; of pods that have no node, until they were withdrawn or the run ended."""

    pods: int
    p50: float
    p90: float
    p99: float
    worst: float
    mean: float


def metrics_of(run: RunResult) -> dict[str, Metric]:
    """All metrics of a run by name, in the order in which reports show them."""
    pods = run.scheduled_here()
    waiting = waiting_times(run, pods)
    unplaced = sum(pod.bound_at is None and pod.ended is None for pod in pods)
    preempted = sum(pod.disrupted_by == "preempted" for pod in run.pods)
    attempts = sum(pod.attempts for pod in pods)
    disrupted = sum(bool(pod.disrupted_by) for pod in run.pods)
    found = {
        "pods to place": Metric(len(pods), "pods"),
        "without a node at the end": Metric(unplaced, "pods", better=-1),
        "pending time, median": Metric(waiting.p50, "s", better=-1),
        "pending time, p90": Metric(waiting.p90, "s", better=-1),
        "pending time, p99": Metric(waiting.p99, "s", better=-1),
        "pending time, worst": Metric(waiting.worst, "s", better=-1),
        "pending time, mean": Metric(waiting.mean, "s", better=-1),
        "preempted": Metric(preempted, "pods", better=-1),
        "lost with their node": Metric(sum(pod.disrupted_by == "node" for pod in run.pods), "pods", better=-1),
        "churn": Metric(100 * disrupted / len(run.pods) if run.pods else 0.0, "% of pods disrupted", better=-1),
        "attempts per pod": Metric(attempts / len(pods) if pods else 0.0, better=-1),
        "nodes in use, mean": Metric(_mean(sample.nodes_in_use for sample in run.samples), "nodes", better=-1),
    }
    for resource in _resources(run):
        found[f"{resource} requested, mean"] = Metric(100 * _mean(allocation(run, resource)), "%", better=+1)
        found[f"{resource} requested, peak"] = Metric(100 * max(allocation(run, resource), default=0.0), "%")
        stranded = _mean(sample.stranded.get(resource, 0.0) for sample in run.samples)
        found[f"free {resource} that no typical pod can use"] = Metric(100 * stranded, "%", better=-1)
    if run.spread:
        exceeded = sum(outcome.skew > outcome.max_skew for outcome in run.spread)
        found["spread constraints exceeded"] = Metric(exceeded, f"of {len(run.spread)}", better=-1)
    recorded = [pod for pod in pods if pod.bound_at is not None and pod.recorded_node]
    if recorded:
        same = sum(pod.node == pod.recorded_node for pod in recorded)
        found["on the recorded node"] = Metric(100 * same / len(recorded), "%")
    hits, containers = run.image_hits
    if containers:
        found["images already on the node"] = Metric(100 * hits / containers, "%", better=+1)
    return found


def waiting_times(run: RunResult, pods: Sequence[PodOutcome]) -> WaitingTimes:
    times = [max(_until(pod, run) - pod.arrived, 0.0) for pod in pods]
    if not times:
        return WaitingTimes(0, 0.0, 0.0, 0.0, 0.0, 0.0)
    p50, p90, p99 = (float(value) for value in np.percentile(times, (50, 90, 99), method="higher"))
    return WaitingTimes(len(times), p50, p90, p99, max(times), sum(times) / len(times))


def waiting_by(run: RunResult, group: Callable[[PodOutcome], str]) -> dict[str, WaitingTimes]:
    """Waiting times of the groups with most pods, largest first."""
    groups: dict[str, list[PodOutcome]] = {}
    for pod in run.scheduled_here():
        groups.setdefault(group(pod), []).append(pod)
    largest = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_GROUPS]
    return {name: waiting_times(run, pods) for name, pods in largest}


def reasons(run: RunResult) -> dict[str, int]:
    """Why pods have no node at the end: the scheduler's words, with the number of pods, most frequent first."""
    counts = Counter(
        _COUNT_OF_NODES.sub("", pod.message) or "not tried"
        for pod in run.scheduled_here()
        if pod.bound_at is None and pod.ended is None
    )
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_GROUPS])


def losers(run: RunResult) -> dict[str, int]:
    """Preempted pods by priority and namespace, theirs and their preemptors', most first."""
    priorities = {pod.pod: pod.priority for pod in run.pods}
    counts = Counter(
        f"priority {pod.priority} in {pod.namespace}{_for(pod.preempted_by, priorities)}"
        for pod in run.pods
        if pod.disrupted_by == "preempted"
    )
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_GROUPS])


def _for(preemptor: str, priorities: Mapping[str, int]) -> str:
    if preemptor not in priorities:
        return f", for {preemptor}" if preemptor else ""
    return f", for priority {priorities[preemptor]} in {preemptor.partition('/')[0]}"


def allocation(run: RunResult, resource: str) -> list[float]:
    """The share of what nodes offer that pods request, sample by sample."""
    return [
        sample.requested.get(resource, 0) / sample.allocatable[resource]
        for sample in run.samples
        if sample.allocatable.get(resource)
    ]


def curves(run: RunResult) -> Mapping[str, list[tuple[float, float]]]:
    """What changes over time, by title: points of (minutes since the start, value)."""
    minutes = [(sample.time - run.started) / 60 for sample in run.samples]
    found = {
        "pods pending": [float(sample.pending) for sample in run.samples],
        "pods running": [float(sample.running) for sample in run.samples],
        "nodes in use": [float(sample.nodes_in_use) for sample in run.samples],
    }
    for resource in _resources(run):
        found[f"{resource} requested, %"] = [100 * share for share in allocation(run, resource)]
        found[f"free {resource} that no typical pod can use, %"] = [
            100 * sample.stranded.get(resource, 0.0) for sample in run.samples
        ]
    return {title: list(zip(minutes, values, strict=False)) for title, values in found.items() if len(values) > 1}


def _until(pod: PodOutcome, run: RunResult) -> float:
    if pod.bound_at is not None:
        return pod.bound_at
    return pod.ended if pod.ended is not None else run.ended


def _resources(run: RunResult) -> list[str]:
    """Those that nodes offer at some time."""
    names = {name: None for sample in run.samples for name, amount in sample.allocatable.items() if amount}
    return list(names)


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0
