"""`kubesched explain` on objects from files."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubesched.cli.main import main
from kubesched.cluster.apiserver.server import ApiServer

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


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["pod/big"], id="as kubectl get -o name prints it"),
        pytest.param(["default/big"], id="with its namespace"),
        pytest.param(["pod/big", "-n", "default"], id="with its namespace as an option"),
    ],
)
def test_names_of_a_pod(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """However people copy them."""
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(MANIFESTS)
    with pytest.raises(SystemExit) as ended:
        main(["explain", *arguments, "-f", str(manifests)])
    assert not ended.value.code
    assert capsys.readouterr().out.startswith("default/big fits nowhere")


def test_a_pod_of_another_scheduler(tmp_path: Path) -> None:
    """It decides by a configuration of its own, which has to be given."""
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(MANIFESTS.replace("priority: 10", "schedulerName: other"))
    ran = run("big", "-f", str(manifests))
    assert ran.returncode == 1
    assert ran.stderr == 'error: profile not found for scheduler name "other": take its configuration (--config)\n'


def test_kinds_that_scheduling_does_not_look_at(tmp_path: Path) -> None:
    """They are in every cluster that somebody saves; a note says that they were left out."""
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(f"{MANIFESTS}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n")
    ran = run("big", "-f", str(manifests))
    assert ran.returncode == 0
    assert ran.stderr == "note: left out, since scheduling does not look at them: ConfigMap\n"
    assert "default/big fits nowhere" in ran.stdout


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
    assert (ran.returncode, ran.stderr) == (1, "error: Pod default/nosuch: there is no such pod, or it has ended\n")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(None, "cannot read {file}: No such file or directory", id="no file"),
        pytest.param(b"\xff\xfe", "cannot read {file}: not a text file", id="no text"),
        pytest.param(b"a: [", "{file}: not valid YAML: line 2: while parsing a flow node", id="no YAML"),
    ],
)
def test_manifests_that_cannot_be_read_are_one_clear_line(
    tmp_path: Path, content: bytes | None, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names the file."""
    file = tmp_path / "cluster.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SystemExit, match="1"):
        main(["explain", "web", "-f", str(file)])
    said = capsys.readouterr().err.splitlines()
    assert [line.startswith(f"error: {problem.format(file=file)}") for line in said] == [True]


def test_manifests_from_standard_input() -> None:
    """As in `kubectl get nodes,pods -A -o yaml | kubesched explain big -f -`."""
    command = [sys.executable, "-m", "kubesched", "explain", "big", "-f", "-"]
    ran = subprocess.run(command, input=MANIFESTS, capture_output=True, text=True, timeout=60, check=False)
    assert "a: evict default/low" in ran.stdout, ran.stderr


def test_a_folder_of_manifests(tmp_path: Path) -> None:
    """All its files make the cluster."""
    nodes, pods = MANIFESTS.split("---", 1)
    (tmp_path / "nodes.yaml").write_text(nodes)
    (tmp_path / "pods.yml").write_text(pods)
    assert "a: evict default/low" in run("big", "-f", str(tmp_path)).stdout


def test_the_matrix_says_whole_names_where_there_is_no_terminal(tmp_path: Path) -> None:
    """And where there is no UTF-8 either."""
    (tmp_path / "cluster.yaml").write_text(MANIFESTS.replace("1500m", "500m"))
    command = [sys.executable, "-m", "kubesched", "explain", "big", "--matrix", "-f", str(tmp_path)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)
    assert "NodeResourcesBalancedAllocation" in ran.stdout.splitlines()[-2]


async def test_a_cluster_that_refuses_us_is_one_clear_line(tmp_path: Path) -> None:
    """And the exit code is ours: threads of the HTTP library once aborted the process that was ending."""
    server = ApiServer()
    await server.start()
    try:
        kubeconfig = tmp_path / "kubeconfig"
        server.token, token = "wrong", server.token
        server.write_kubeconfig(kubeconfig)
        server.token = token
        ran = await asyncio.to_thread(run, "web", "--kubeconfig", str(kubeconfig))
    finally:
        await server.stop()
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: the API server does not accept our credentials: ")
    assert len(ran.stderr.splitlines()) == 1


GANG = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: both}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {schedulingGroup: {podGroupName: both}, containers: [{name: c, image: x}]}
"""


def test_feature_gates_decide_with(tmp_path: Path) -> None:
    """Those of the scheduler that the question is about."""
    manifests = tmp_path / "cluster.yaml"
    manifests.write_text(f"{MANIFESTS}---{GANG}")
    assert run("one", "-f", str(manifests)).stdout.startswith("default/one would go to a\n")
    gates = "--feature-gates=GenericWorkload=true"
    assert run("one", "-f", str(manifests), gates).stdout.startswith("default/one waits outside the queue: ")
    wrong = run("one", "-f", str(manifests), "--feature-gates=Foo=true")
    assert (wrong.returncode, wrong.stderr) == (1, "error: unrecognized feature gate: Foo\n")
