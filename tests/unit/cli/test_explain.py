"""`kubesched explain` on objects from files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {priority: 10, containers: [{name: c, image: x, resources: {requests: {cpu: 1500m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: low}
spec: {nodeName: a, containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]}
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kubesched", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_pod_that_fits_nowhere_is_explained(tmp_path: Path) -> None:
    """The reason of each node, and whom preemption would cost."""
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(MANIFESTS)
    ran = run("big", "-f", str(manifests))
    assert ran.returncode == 0, ran.stderr
    assert "default/big fits nowhere: 0/1 nodes are available: 1 Insufficient cpu." in ran.stdout
    assert "a: no, Insufficient cpu (NodeResourcesFit)" in ran.stdout
    assert "a: evict default/low" in ran.stdout


def test_json_has_the_candidates(tmp_path: Path) -> None:
    """Programs get the same as data."""
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(MANIFESTS)
    data = json.loads(run("default/big", "-f", str(manifests), "-o", "json").stdout)
    assert data["preemption"]["candidates"] == [{"node": "a", "victims": ["default/low"], "pdbViolations": 0}]


def test_an_unknown_pod_is_one_clear_line(tmp_path: Path) -> None:
    """No traceback for a typing error."""
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(MANIFESTS)
    ran = run("nosuch", "-f", str(manifests))
    assert (ran.returncode, ran.stderr) == (1, "error: Pod default/nosuch: there is no such pod\n")
