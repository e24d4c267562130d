"""A configuration that `kubesched tune` found is as much better for Go's kube-scheduler, on a real API server."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest
import yaml
from tests.e2e.control_plane import SCHEDULER_USER, RealControlPlane, clean_environment
from tests.e2e.manifests import condition, node, pod
from tests.e2e.processes import Process, eventually
from tests.e2e.scheduler import configuration

from kubesched import replay
from kubesched.apps.sweep.tuning import tune
from kubesched.objects import Node, Pod
from kubesched.objects.base import Json
from kubesched.traces import Change, Trace
from kubesched.traces.generate import generate, load_trace_spec
from kubesched.traces.slicing import cut

T = TypeVar("T", Node, Pod)
SPEC = """
length: 20m
nodes:
- {name: n, count: 8, capacity: {cpu: 8, memory: 32Gi}}
workloads:
- name: small
  arrivals: {atStart: 16, perMinute: 0.5}
  sizes:
  - {weight: 2, requests: {cpu: 500m, memory: 1Gi}}
  - {weight: 1, requests: {cpu: 1, memory: 2Gi}}
- name: large
  arrivals: {perMinute: 0.25}
  sizes: [{requests: {cpu: 7, memory: 8Gi}}]
"""
TUNING = """
trace: {generate: spec.yaml, perSeed: true}
search:
  weights: {NodeResourcesFit: {from: 1, to: 20}, NodeResourcesBalancedAllocation: {from: 0, to: 5}}
  args: {NodeResourcesFit: {scoringStrategy.type: [LeastAllocated, MostAllocated]}}
objectives: [{minimise: without_a_node_at_the_end}]
trials: 8
seeds: 3
heldOutSeeds: 8
"""
TRIED = (4, 5, 6)
"""Seeds that the search has not seen."""


def held_out(folder: Path, seed: int) -> Trace:
    trace = generate(load_trace_spec(folder / "spec.yaml"), seed=seed)
    return cut(trace, since=trace.header.started + 600)


def objects(trace: Trace, kind: type[T]) -> list[T]:
    return [entry.object for entry in trace if isinstance(entry, Change) and isinstance(entry.object, kind)]


class GoScheduler:
    """kube-scheduler with a configuration, given one pod after the other."""

    def __init__(self, cluster: RealControlPlane, document: Json, folder: Path, name: str) -> None:
        program = cluster.program("kube-scheduler")
        if program is None:
            pytest.skip("no kube-scheduler was built")
        self._admin = cluster.admin
        file = folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump({**configuration(cluster.kubeconfig(SCHEDULER_USER)), **document}))
        command = [str(program), f"--config={file}", "--secure-port=0", "--leader-elect=false"]
        self.process = Process(command, folder / f"{name}.log", clean_environment())

    def without_a_node(self, trace: Trace) -> int:
        """How many pods of the trace it cannot place."""
        self._admin.delete_all("Pod")
        self._admin.delete_all("Node")
        self._admin.create_all(node(obj.metadata.name, cpu="8", memory="32Gi") for obj in objects(trace, Node))
        return sum(not self._place(obj) for obj in objects(trace, Pod))

    def _place(self, wanted: Pod) -> bool:
        requests = wanted.spec.containers[0].resources.requests
        name = wanted.metadata.name
        self._admin.create(pod(name, cpu=str(requests["cpu"]), memory=str(requests["memory"])))
        return eventually(lambda: self._verdict(name), f"a decision about {name}", every=0.01) == "placed"

    def _verdict(self, name: str) -> str | None:
        found = self._admin.get("Pod", name)
        if found["spec"].get("nodeName"):
            return "placed"
        return "not" if condition(found).get("reason") == "Unschedulable" else None


def test_go_confirms_what_tune_found(real_cluster: RealControlPlane, tmp_path: Path) -> None:
    """On the held-out part, with seeds that the search has not seen: fewer pods without a node, as the replay said."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "tuning.yaml").write_text(TUNING)
    report = tune(tmp_path / "tuning.yaml", tmp_path / "results", jobs=0)
    (candidate,) = report.candidates
    assert report.is_confirmed(candidate.improvements[0])
    tuned = yaml.safe_load(Path(candidate.file).read_text())
    traces = [held_out(tmp_path, seed) for seed in TRIED]
    figures: dict[str, tuple[int, int]] = {}
    for name, document in (("default", {}), ("tuned", tuned)):
        runs = [replay(trace, document or None) for trace in traces]
        expected = sum(found.bound_at is None for run in runs for found in run.pods)
        scheduler = GoScheduler(real_cluster, document, tmp_path, name)
        try:
            figures[name] = (expected, sum(scheduler.without_a_node(trace) for trace in traces))
        finally:
            scheduler.process.stop()
    print(f"pods without a node, replayed and by kube-scheduler: {figures}")
    replayed, real = zip(*figures.values(), strict=True)
    assert real[1] < real[0], figures
    assert real[1] <= replayed[1] + 1, figures
    assert abs(real[0] - replayed[0]) <= 3, figures
