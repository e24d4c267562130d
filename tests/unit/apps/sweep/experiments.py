"""Small experiments for tests: a trace of 40 pods, two policies, a few seeds."""

from __future__ import annotations

from pathlib import Path

SPEC = """
length: 20m
nodes:
- {name: n, count: 3, capacity: {cpu: 4, memory: 8Gi}}
workloads:
- name: web
  arrivals: {perMinute: 2}
  sizes: [{requests: {cpu: 500m, memory: 1Gi}}]
  lifetime: {exponential: 5m}
"""
EXPERIMENT = """
traces: [{generate: spec.yaml, perSeed: true}]
policies:
- default
- name: packing
  args: {NodeResourcesFit: {scoringStrategy.type: MostAllocated}}
seeds: 2
"""
PLUGIN = """
from kubesched.framework import ScorePlugin
from preference import FAVOURITE

class Favourite(ScorePlugin):
    name = "Favourite"

    def score(self, state, pod, node):
        return 100 if node.name == FAVOURITE else 0
"""
WITH_PLUGIN = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: "favourite:Favourite", weight: 100}]}}
"""


def write_experiment(folder: Path, text: str = EXPERIMENT, spec: str = SPEC) -> Path:
    (folder / "spec.yaml").write_text(spec)
    path = folder / "experiment.yaml"
    path.write_text(text)
    return path


def write_plugin(folder: Path, favourite: str = "n-1") -> Path:
    """A plugin with a module beside it that it imports, and the configuration that names it."""
    folder.mkdir(exist_ok=True)
    (folder / "favourite.py").write_text(PLUGIN)
    (folder / "preference.py").write_text(f"FAVOURITE = {favourite!r}\n")
    path = folder / "favourite.yaml"
    path.write_text(WITH_PLUGIN)
    return path
