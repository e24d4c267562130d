"""The page about simulations can be copied, and says what it prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "simulation.md").read_text()
CLUSTER = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: default}}
- apiVersion: v1
  kind: Node
  metadata: {name: a}
  status: {allocatable: {cpu: "8", memory: 64Gi, pods: "110"}}
- apiVersion: v1
  kind: Pod
  metadata: {name: old, namespace: default}
  spec: {nodeName: a, containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}
"""


def test_its_code_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder with a cluster that somebody saved."""
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(CLUSTER)
    comparing, planning = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    module: dict[str, Any] = {}
    exec(comparing, module)
    printed = re.search(r"```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert printed is not None
    assert capsys.readouterr().out == printed[1]
    exec(planning, module)
    said = capsys.readouterr().out
    assert said.startswith("3 of 100 fit\ndefault/larger fits nowhere: 0/1 nodes are available: 1 Insufficient cpu.")
