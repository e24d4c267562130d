"""`kubesched up`, the whole of it."""

from __future__ import annotations

import shutil
import signal
import socket
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'nginx:1', resources: {requests: {cpu: 100m}}}]}
"""
PREFERS_ONE_NODE = """
from kubesched.objects.base import Json
from kubesched.scheduler.framework import ScorePlugin


class PreferNode3(ScorePlugin):
    name = "PreferNode3"

    def __init__(self, args, handle):
        pass

    def score(self, state, pod, node):
        return 100 if node.name == "node-3" else 0
"""
WITH_PLUGIN = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled:
      - {name: "preferences:PreferNode3", weight: 1000}
"""


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
---
apiVersion: v1
kind: Pod
metadata: {name: other}
spec: {containers: [{name: c, image: x}]}
"""


def available(count: int) -> Any:
    return lambda value: (value.get("status") or {}).get("availableReplicas") == count


@pytest.fixture
def web(tmp_path: Path) -> Path:
    path = tmp_path / "web.yaml"
    path.write_text(WEB)
    return path


def test_pods_are_scheduled_and_run_and_ctrl_c_ends_it(start_up: Any, web: Path) -> None:
    """From the manifest to running pods on several nodes; then a clean end."""
    up = start_up("--nodes", "3", "-f", str(web))
    up.wait_for(f"{DEPLOYMENTS}/web", available(3))
    pods = up.get(PODS)["items"]
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-1", "node-2", "node-3"}
    up.read_until("3 running")
    assert any("Scheduled: Successfully assigned default/web-" in line for line in up.lines)
    assert up.stop() == 0


def test_a_port_that_is_taken_is_one_clear_line(start_up: Any) -> None:
    """No traceback, exit code 1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        up = start_up("--port", str(port), ready=False)
        up.read_until("error:")
        assert up.lines == [f"error: port {port} is taken: choose another one with --port, or 0 for any free one"]
        assert up.process.wait(timeout=120) == 1


def test_the_kubeconfig_of_a_running_cluster_is_not_replaced(start_up: Any) -> None:
    """A second cluster in the same folder is refused in one line; the first can still be reached."""
    first = start_up("--nodes", "1")
    second = start_up("--nodes", "1", ready=False)
    second.read_until("error:")
    assert second.process.wait(timeout=120) == 1
    [line] = second.lines
    assert line.startswith("error: a cluster at https://127.0.0.1:")
    assert line.endswith("or give this one a file and a port of its own: --kubeconfig FILE --port 0")
    assert len(first.get("/api/v1/nodes")["items"]) == 1
    assert first.stop() == 0
    assert start_up("--nodes", "1").stop() == 0


def test_a_bad_manifest_is_one_clear_line(start_up: Any, tmp_path: Path) -> None:
    """The process beside has found it; this one says it, and ends with code 1."""
    (tmp_path / "bad.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}}")
    up = start_up("-f", "bad.yaml", ready=False)
    up.read_until("error:")
    assert up.lines == ['error: bad.yaml: Pod "p" is invalid: spec.containers: Required value']
    assert up.process.wait(timeout=120) == 1


def test_a_plugin_of_ones_own_decides(start_up: Any, tmp_path: Path, web: Path) -> None:
    """`--config` works as it does for `kubesched run`, plugins beside the file included."""
    (tmp_path / "preferences.py").write_text(PREFERS_ONE_NODE)
    (tmp_path / "scheduler.yaml").write_text(WITH_PLUGIN)
    up = start_up("--config", "scheduler.yaml", "-f", str(web))
    up.wait_for(f"{DEPLOYMENTS}/web", available(3))
    assert {pod["spec"]["nodeName"] for pod in up.get(PODS)["items"]} == {"node-3"}


def test_feature_gates(start_up: Any, tmp_path: Path) -> None:
    """With gangs, half of one does not start; without the gate nobody would wait for the rest."""
    (tmp_path / "gang.yaml").write_text(GANG)
    up = start_up("--feature-gates", "GenericWorkload=true", "-f", "gang.yaml")
    up.wait_for(f"{PODS}/other", lambda pod: pod["spec"].get("nodeName"))
    assert "nodeName" not in up.get(f"{PODS}/one")["spec"]


def test_a_data_directory_survives_a_kill(start_up: Any, tmp_path: Path, web: Path) -> None:
    """Killed without a warning and started again: the pods are there, and the cluster goes on working."""
    up = start_up("--data-dir", "data", "-f", str(web))
    up.wait_for(f"{DEPLOYMENTS}/web", available(3))
    before = {pod["metadata"]["uid"] for pod in up.get(PODS)["items"]}
    up.stop(signal.SIGKILL)
    again = start_up("--data-dir", "data", "-f", str(web))
    assert {pod["metadata"]["uid"] for pod in again.get(PODS)["items"]} == before
    scale = again.get(f"{DEPLOYMENTS}/web/scale")
    again.send("PUT", f"{DEPLOYMENTS}/web/scale", {**scale, "spec": {"replicas": 5}})
    again.wait_for(f"{DEPLOYMENTS}/web", available(5))
    assert again.stop(signal.SIGTERM) == 0


def test_strangers_need_the_token(start_up: Any) -> None:
    """TLS with a token by default; plain HTTP only when asked for."""
    up = start_up()
    address = up.lines[0].removeprefix("API server: ")
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{address}/api/v1/nodes", context=unverified)
    assert up.kubeconfig.stat().st_mode & 0o077 == 0
    up.stop()
    open_up = start_up("--insecure-http")
    address = open_up.lines[0].removeprefix("API server: ")
    with urllib.request.urlopen(f"{address}/api/v1/nodes") as answer:
        assert answer.status == 200


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_kubectl_just_works(start_up: Any, web: Path) -> None:
    """What a user types in the first five minutes."""
    up = start_up("--nodes", "3")
    up.kubectl("apply", "-f", str(web))
    up.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    assert "3/3" in up.kubectl("get", "deployment", "web")
    up.kubectl("scale", "deployment/web", "--replicas=5")
    up.kubectl("set", "image", "deployment/web", "c=nginx:2")
    up.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    up.kubectl("rollout", "undo", "deployment/web")
    up.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    assert "2" in up.kubectl("rollout", "history", "deployment/web")
    up.kubectl("drain", "node-1", "--ignore-daemonsets", "--timeout=60s")
    assert "SchedulingDisabled" in up.kubectl("get", "nodes")
    assert "node-1" not in up.kubectl("get", "pods", "-o", "wide")
    up.kubectl("uncordon", "node-1")
    assert "Scheduled" in up.kubectl("events")
    assert "Successfully assigned" in up.kubectl("describe", "pods", "-l", "app=web")
    up.kubectl("delete", "deployment", "web")
    up.kubectl("wait", "--for=delete", "pod", "-l", "app=web", "--timeout=60s")
    assert up.kubectl("get", "pods", "-o", "name") == ""


def test_a_demo_says_what_it_shows(start_up: Any) -> None:
    """Its explanation is printed, and its pods run."""
    up = start_up("--demo", "web")
    up.read_until("Demo web: ")
    up.wait_for(PODS, lambda value: sum(pod["status"]["phase"] == "Running" for pod in value["items"]) >= 3)
