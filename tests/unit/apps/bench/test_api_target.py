"""A scheduler behind an API server: the embedded one, each in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched.apps.bench.worker import EMBEDDED, RunOptions, run_here
from kubesched.apps.bench.workload import load_workloads

CASE = """
- name: Mixed
  workloadTemplate:
  - {opcode: createNodes, count: 3}
  - {opcode: createPods, count: 2, namespace: gated, podTemplatePath: gated.yaml, skipWaitToCompletion: true}
  - {opcode: barrier, stageRequirement: Attempted}
  - {opcode: createPods, count: 10, namespace: test, collectMetrics: true}
  - {opcode: deletePods, namespace: test}
  - opcode: createPods
    count: 2
    namespace: volumes
    persistentVolumeTemplatePath: volume.yaml
    persistentVolumeClaimTemplatePath: volume-claim.yaml
  workloads: [{name: small}]
"""
GATED = """
apiVersion: v1
kind: Pod
metadata: {generateName: gated-}
spec: {schedulingGates: [{name: example.com/wait}], containers: [{name: c, image: pause}]}
"""
VOLUME = """
apiVersion: v1
kind: PersistentVolume
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, csi: {driver: disk.example.com}}
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


@pytest.mark.slow
async def test_a_workload_runs_over_http(tmp_path: Path) -> None:
    """The same operations as in the core: pods, gates, deletions and volumes."""
    files = {"performance-config.yaml": CASE, "gated.yaml": GATED, "volume.yaml": VOLUME, "volume-claim.yaml": CLAIM}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    [workload] = load_workloads([tmp_path])
    result = await run_here(workload, RunOptions(mode=EMBEDDED, time_limit=60), lambda done, what: None)
    assert result.problem == ""
    assert [(stretch.name, stretch.pods) for stretch in result.collected] == [("test", 10)]


@pytest.mark.slow
async def test_a_scheduler_that_ends_ends_the_workload(tmp_path: Path) -> None:
    """With the reason, at once: nobody would ever schedule the pods."""
    (tmp_path / "performance-config.yaml").write_text(
        "- {name: c, workloads: [{name: w}], workloadTemplate: ["
        "{opcode: createNodes, count: 1}, {opcode: createPods, count: 1}]}"
    )
    [workload] = load_workloads([tmp_path])
    options = RunOptions(mode=EMBEDDED, time_limit=60, scheduler="python3 -c 'raise SystemExit(\"{kubeconfig}?\")'")
    result = await run_here(workload, options, lambda done, what: None)
    assert "python3 ended with code 1" in result.problem
