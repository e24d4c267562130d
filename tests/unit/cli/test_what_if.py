"""`kubesched what-if` on objects from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesched.cli.main import main
from kubesched.cli.what_if import parse_change
from kubesched.errors import ConfigurationError

CLUSTER = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a, labels: {pool: x}}, status: {allocatable: {cpu: 4, pods: 9}}}
- {apiVersion: v1, kind: Node, metadata: {name: b, labels: {pool: y}}, status: {allocatable: {cpu: 4, pods: 9}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: web-1, ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]}
  spec: {nodeName: a, containers: [{name: c, resources: {requests: {cpu: 2}}}]}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "api.yaml").write_text(DEPLOYMENT)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["what-if", *arguments])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_text_says_the_outcome_first(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is supposed, what happens, and to whom."""
    code, out, _ = run(capsys, "-f", "cluster.yaml", "--drain", "a")
    assert (code, out) == (0, "drain a\npods: 1 move\nmove:\n  default/web-1: a → b\n")


def test_hypotheses_act_in_the_order_of_the_command_line(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever their options are called; JSON has all of it."""
    later = ("--scale", "rs/web=4", "--drain=pool=x", "--add-nodes", "1", "--like", "b", "--apply", "api.yaml")
    _, out, _ = run(capsys, "-f", "cluster.yaml", "-o", "json", "--cordon", "b", *later)
    report: dict[str, Any] = json.loads(out)
    wanted = ["cordon b", "scale rs/web to 4", "drain pool=x", "add 1 nodes like b", "apply api.yaml"]
    assert report["hypotheses"] == wanted
    assert {one["node"] for one in report["started"]} == {"b-new-1"}


def test_every_loss(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table, the worst first."""
    _, out, _ = run(capsys, "-f", "cluster.yaml", "--each", "pool")
    lines = out.splitlines()
    assert lines[0] == "losing one of 2 values of pool: 2 would cost nothing but restarts"
    assert lines[2].split() == ["x", "1", "0", "0", "0", "1"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "what if what? Give at least one of --drain, "),
        (("--drain", "c"), "no node is named 'c', and none has such labels"),
        (("--each", "node", "--drain", "a"), "--each asks about losses only: leave the other hypotheses out"),
        (("--scale", "web"), "--scale 'web': write WORKLOAD=N, as in deploy/web=20"),
        (("--add-nodes", "2"), "--add-nodes N goes with --like NODE|FILE"),
        (("--add-nodes", "2", "--like", "none.yaml"), "cannot read none.yaml: No such file or directory"),
        (("--add-nodes", "2", "--like", "api.yaml"), "api.yaml: expected one node, found 0"),
        (("--apply", "cluster.json"), "cannot read cluster.json: No such file or directory"),
        (("--change-node", "a"), "--change-node 'a': what should change? See --help"),
        (("--change-node", "a cpu"), "--change-node 'a cpu': 'cpu' is no change; see --help"),
        (("--change-config", "none.yaml", "--drain", "a"), "none.yaml: "),
    ],
)
def test_bad_input_is_one_line(
    cluster: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], problem: str
) -> None:
    """Code 1, nothing on standard output."""
    code, out, err = run(capsys, "-f", "cluster.yaml", *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert problem in err
    assert err.count("\n") == 1


def test_pods_without_a_cluster_are_no_cluster(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files of -f are the whole cluster."""
    code, _, err = run(capsys, "-f", "api.yaml", "--drain", "a")
    assert code == 1
    assert "there are no nodes in api.yaml: -f takes the objects of a whole cluster" in err


def test_changes_of_nodes() -> None:
    """Labels, taints and resources, each to set or to take away."""
    change = parse_change("pool=x cpu=8 label:tier=gold label:old- taint:k=v:NoSchedule taint:gone-")
    assert (change.nodes, change.labels, change.allocatable) == ("pool=x", {"tier": "gold", "old": None}, {"cpu": "8"})
    assert str(change) == "change pool=x: tier=gold, old-, taint k:NoSchedule, taint gone-, cpu=8"
    with pytest.raises(ConfigurationError):
        parse_change("")
