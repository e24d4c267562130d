"""Workloads of a few objects, run on the scheduler's core in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kubesched.apps.bench.core_target import CoreTarget
from kubesched.apps.bench.results import Result
from kubesched.apps.bench.runner import run_workload
from kubesched.apps.bench.workload import load_workloads
from kubesched.clock import SystemClock

TEMPLATES = {
    "node.yaml": """
apiVersion: v1
kind: Node
metadata: {name: 'n-{{.Index}}'}
status: {capacity: {cpu: 1, pods: 9}}
""",
    "pod.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: 'p-{{.Index}}', labels: {type: plain}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, resources: {requests: {cpu: 300m}}}]
""",
    "gated.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: 'g-{{.Index}}'}
spec: {schedulingGates: [{name: wait}], containers: [{name: c}]}
""",
    "ungated.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: 'g-{{.Index}}'}
spec: {containers: [{name: c}]}
""",
    "large.yaml": """
apiVersion: v1
kind: Pod
metadata: {generateName: large-, labels: {type: large}}
spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}
""",
    "held.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: 'h-{{.Index}}', finalizers: [example.com/hold]}
spec: {containers: [{name: c, resources: {requests: {cpu: 300m}}}]}
""",
    "class.yaml": """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
""",
    "claim.yaml": """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: 'claim-{{.Index}}'}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
""",
    "claim-template.yaml": """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
""",
    "pod-with-gpu.yaml": """
apiVersion: v1
kind: Pod
metadata: {generateName: gpu-}
spec:
  terminationGracePeriodSeconds: 0
  resourceClaims: [{name: device, resourceClaimTemplateName: one-gpu}]
  containers: [{name: c, resources: {claims: [{name: device}]}}]
""",
    "volume.yaml": """
apiVersion: v1
kind: PersistentVolume
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, csi: {driver: disk.example.com}}
""",
    "volume-claim.yaml": """
apiVersion: v1
kind: PersistentVolumeClaim
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
""",
}

RunOperations = Callable[..., Awaitable[tuple[Result, CoreTarget]]]


@pytest.fixture
def run_operations(tmp_path: Path) -> RunOperations:
    """Run operations, one YAML flow mapping each; the result, and the target to look at."""
    for name, text in TEMPLATES.items():
        (tmp_path / name).write_text(text)

    async def run(*operations: str, time_limit: float = 10.0) -> tuple[Result, CoreTarget]:
        lines = "".join(f"\n  - {operation}" for operation in operations)
        file = tmp_path / "performance-config.yaml"
        file.write_text(f"- name: c\n  workloads: [{{name: w}}]\n  workloadTemplate:{lines}")
        [workload] = load_workloads([file])
        clock = SystemClock()
        target = CoreTarget(workload.feature_gates, clock)
        result = await run_workload(
            workload, target, clock, mode="core", time_limit=time_limit, progress=lambda done, what: None
        )
        return result, target

    return run
