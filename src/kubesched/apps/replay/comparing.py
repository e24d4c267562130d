"""Several configurations on one trace: each replayed with every seed, and the others compared with the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from kubesched.apps.replay.moved import explain_move
from kubesched.apps.replay.replay import Ties, replay
from kubesched.apps.replay.workload import Workload, workload_of
from kubesched.apps.simulate.virtual_scheduler import Configuration
from kubesched.reports.report import MovedPod, Report, compare_runs, moved_pods
from kubesched.reports.run import RunResult
from kubesched.scheduler.framework import PluginFactory
from kubesched.traces import Trace

EXPLAINED: Final = 10
"""Of the pods that move, so many are explained unless asked otherwise."""

Progress = Callable[[str, float], None]
"""Hears what is running, and the share of all work that is done."""


def compare(
    trace: Trace | Workload | str | Path,
    policies: Mapping[str, Configuration] | None = None,
    *,
    seeds: Sequence[int] = (0,),
    ties: Ties = "seed",
    feature_gates: str = "",
    emulated_version: str = "",
    plugins: Mapping[str, PluginFactory] | None = None,
    explained: int = EXPLAINED,
    on_progress: Progress = lambda what, share: None,
) -> Report:
    """Replay a trace under every policy (name -> configuration; the default one if none is given) with every seed.

    Pods that move between the first policy and another are explained by replaying both once more with an eye on them:
    a replay is the same every time. TraceError, ConfigurationError.
    """
    on_progress("reading the trace", 0.0)
    workload = trace if isinstance(trace, Workload) else workload_of(trace)
    named = dict(policies or {"default": None})

    def run(
        name: str, seed: int, pods: Sequence[str] = (), heard: Callable[[float], None] = lambda s: None
    ) -> RunResult:
        return replay(
            workload,
            named[name],
            name=name,
            seed=seed,
            ties=ties,
            feature_gates=feature_gates,
            emulated_version=emulated_version,
            plugins=plugins,
            explained=pods,
            on_progress=heard,
        )

    work = [(name, seed) for name in named for seed in seeds]
    runs: dict[str, list[RunResult]] = {name: [] for name in named}
    for number, (name, seed) in enumerate(work):
        label = f"replaying {name}" + (f", seed {seed}" if len(seeds) > 1 else "")
        heard = _scaled(on_progress, label, number, len(work))
        runs[name].append(run(name, seed, heard=heard))
    first, *others = named
    comparisons = []
    for other in others:
        comparison = compare_runs(runs[first], runs[other])
        on_progress(f"explaining pods that {other} moves", 1.0)
        comparison.explained = _explained(runs[first][0], runs[other][0], explained, run)
        comparisons.append(comparison)
    return Report(trace=workload.name, runs=runs, comparisons=comparisons)


def _scaled(on_progress: Progress, label: str, done: int, of: int) -> Callable[[float], None]:
    return lambda share: on_progress(label, (done + share) / of)


def _explained(
    first: RunResult, second: RunResult, most: int, run: Callable[[str, int, Sequence[str]], RunResult]
) -> list[MovedPod]:
    pods = moved_pods(first, second, most)
    if not pods:
        return []
    again = run(first.name, first.seed, pods), run(second.name, second.seed, pods)
    nodes = [{pod.pod: pod.node for pod in result.pods} for result in again]
    return [
        explain_move(pod, (nodes[0][pod], nodes[1][pod]), again[0].explanations[pod], again[1].explanations[pod])
        for pod in pods
        if pod in again[0].explanations and pod in again[1].explanations
    ]
