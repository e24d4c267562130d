"""A decision as it was taken, in a browser in front of `kubesched up`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import SECONDS, node, pod


@pytest.fixture
def up(tmp_path: Path) -> Iterator[str]:
    """The page of a cluster with three nodes, one of them too small for its only pod."""
    nodes, objects = tmp_path / "nodes.json", tmp_path / "objects.json"
    sizes = [node("large-1"), node("large-2"), node("small", cpu="100m")]
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": sizes}))
    objects.write_text(json.dumps(pod("web")))
    command = [sys.executable, "-u", "-m", "kubesched", "up", "--quiet", "--port", "0", "--nodes-from", str(nodes)]
    command += ["-f", str(objects), "--kubeconfig", str(tmp_path / "kubeconfig")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path)
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"http://\S+token\S+", line):
            yield found[0]
            break
    else:
        raise AssertionError(f"there is no link to the page: {said}")
    process.terminate()
    process.communicate(timeout=SECONDS)


def test_a_bound_pod_shows_its_decision_as_it_was_taken(tab: Any, up: str) -> None:
    """And, evaluated now, every filter on every node; then back. The map says of which time its points are."""
    tab.goto(up)
    tab.get_by_text("1 pod placed").wait_for()
    tab.goto(f"{up.partition('?')[0]}#/pod/default/web")
    tab.get_by_text("The decision as it was taken").wait_for()
    tab.get_by_text("Went to").wait_for()
    tab.get_by_role("button", name="Evaluate it now").click()
    tab.get_by_text("Every filter on every node").wait_for()
    assert tab.locator("table.matrix tbody tr").count() == 3
    tab.get_by_role("button", name="Show the decision as it was taken").click()
    tab.get_by_text("The decision as it was taken").wait_for()
    tab.get_by_role("link", name="Show the points on the map").click()
    tab.get_by_text("as it was decided").wait_for()
