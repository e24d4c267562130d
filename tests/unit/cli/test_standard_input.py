"""What a command takes from a file it takes from standard input, recognised by its content."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kubesched.cli import capacity, defrag, explain, replay, rollout, shadow, trace, what_if
from kubesched.objects import to_manifest
from kubesched.testing import make_node, make_pod
from kubesched.traces import Trace

NODES = [make_node("n1", cpu="4"), make_node("n2", cpu="4")]
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"}
PODS = [make_pod("web", cpu="1", node="n1", owner=OWNER), make_pod("big", cpu="3")]
MANIFESTS = json.dumps({"kind": "List", "items": [to_manifest(obj) for obj in (*NODES, *PODS)]}).encode()
SIMULATOR = b"".join(
    json.dumps({"time": "2026-11-18T09:00:00Z", "event": "Add", "resource": to_manifest(obj)}).encode() + b"\n"
    for obj in (*NODES, *PODS)
)


def native(folder: Path) -> bytes:
    file = folder / "trace.jsonl.zst"
    Trace.of([*NODES, *PODS]).save(file)
    return file.read_bytes()


COMMANDS: list[Any] = [
    pytest.param(what_if.app, ["-f", "-", "--drain", "n1"], "drain n1", id="what-if"),
    pytest.param(explain.app, ["big", "-f", "-"], "default/big", id="explain"),
    pytest.param(capacity.app, ["POD", "-f", "-"], "fit", id="capacity"),
    pytest.param(rollout.app, ["-f", "-", "--force"], "upgraded", id="rollout"),
    pytest.param(defrag.app, ["-f", "-", "--free-nodes", "1"], "empty node", id="defrag"),
    pytest.param(replay.replay_app, ["-"], "pods to place", id="replay"),
    pytest.param(shadow.app, ["-"], "bindings judged", id="shadow"),
    pytest.param(trace.app, ["show", "-"], "2 Node", id="trace show"),
]


@pytest.mark.parametrize("form", ["manifests", "packed manifests", "simulator", "trace"])
@pytest.mark.parametrize(("app", "arguments", "expected"), COMMANDS)
def test_any_form_is_recognised(app: Any, arguments: list[str], expected: str, form: str, tmp_path: Path) -> None:
    """Objects as kubectl prints them, plain or packed, another tool's recording, our own trace."""
    content = {
        "manifests": MANIFESTS,
        "packed manifests": gzip.compress(MANIFESTS),
        "simulator": SIMULATOR,
        "trace": native(tmp_path),
    }[form]
    more = tmp_path / "pod.json"
    more.write_text(json.dumps(to_manifest(make_pod("more", cpu="1"))))
    given = [str(more) if argument == "POD" else argument for argument in arguments]
    result = CliRunner().invoke(app, given, input=content)
    assert result.exit_code == 0, result.output
    assert expected in result.output
