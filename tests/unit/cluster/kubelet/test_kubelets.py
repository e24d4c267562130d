"""What simulated nodes do with pods."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.objects.base import Json

POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {%s}}
spec: {restartPolicy: %s, containers: [{name: c, image: nginx}]}
"""


def pod(annotations: str = "", policy: str = "Always") -> str:
    return POD % (annotations, policy)


async def test_a_node_becomes_ready_with_lease_and_addresses(rig: Any) -> None:
    """A kubelet fills in what a manifest leaves out, and says that it is there."""
    node = rig.get("nodes", "node-1")
    conditions = {item["type"]: item["status"] for item in node["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
    assert node["spec"]["podCIDR"] == "10.128.0.0/24"
    assert "node-1" in rig.names("leases.coordination.k8s.io", "kube-node-lease")


async def test_a_lease_is_renewed(rig: Any) -> None:
    """Heartbeats come every ten seconds."""
    before = rig.get("leases.coordination.k8s.io", "node-1", "kube-node-lease")["spec"]["renewTime"]
    await rig.advance(11)
    assert rig.get("leases.coordination.k8s.io", "node-1", "kube-node-lease")["spec"]["renewTime"] > before


async def test_a_bound_pod_starts_and_runs(rig: Any) -> None:
    """Pending, then Running and ready, with an address of its node's range; the image is reported."""
    rig.apply(pod())
    await rig.advance(0.3)
    starting = rig.get("pods", "p")
    assert starting["status"]["phase"] == "Pending"
    assert starting["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    await rig.advance(1)
    running = rig.get("pods", "p")
    assert running["status"]["phase"] == "Running"
    assert running["status"]["podIP"].startswith("10.128.")
    assert {item["type"] for item in running["status"]["conditions"] if item["status"] == "True"} == {
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    }
    node = rig.get("nodes", running["spec"]["nodeName"])
    assert node["status"]["images"][0]["names"] == ["nginx"]
    assert "Started" in rig.reasons("p")


async def test_a_readiness_probe_delays_readiness(rig: Any) -> None:
    """The probe's initial delay passes before the pod is ready."""
    rig.apply(
        """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: nginx, readinessProbe: {initialDelaySeconds: 3, httpGet: {port: 80}}}
"""
    )
    await rig.advance(2)
    assert _condition(rig.get("pods", "p"), "Ready") == "False"
    await rig.advance(4)
    assert _condition(rig.get("pods", "p"), "Ready") == "True"


@pytest.mark.parametrize(
    ("annotations", "policy", "phase"),
    [
        pytest.param('kubesched.io/run-seconds: "2"', "Always", "Succeeded", id="a run time ends in success"),
        pytest.param(
            'kubesched.io/run-seconds: "2", kubesched.io/exit-code: "3"', "Never", "Failed", id="an exit code fails it"
        ),
        pytest.param(
            'kubesched.io/run-seconds: "2", kubesched.io/exit-code: "3"', "OnFailure", "Running", id="or restarts it"
        ),
        pytest.param('kubesched.io/run-seconds: "soon"', "Always", "Running", id="nonsense is ignored"),
        pytest.param("", "Never", "Running", id="without a run time it runs on"),
    ],
)
async def test_pods_end_as_their_annotations_say(rig: Any, annotations: str, policy: str, phase: str) -> None:
    """Run time and exit code come from annotations."""
    rig.apply(pod(annotations, policy))
    await rig.advance(4)
    assert rig.get("pods", "p")["status"]["phase"] == phase


async def test_a_failed_container_waits_before_it_runs_again(rig: Any) -> None:
    """CrashLoopBackOff with a restart count, then running again."""
    rig.apply(pod('kubesched.io/run-seconds: "1", kubesched.io/exit-code: "1"', "Always"))
    await rig.advance(3)
    status = rig.get("pods", "p")["status"]["containerStatuses"][0]
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["restartCount"] == 1
    await rig.advance(9.5)
    status = rig.get("pods", "p")["status"]["containerStatuses"][0]
    assert "running" in status["state"]
    assert status["restartCount"] == 1


async def test_a_deleted_pod_stops_before_it_goes(rig: Any) -> None:
    """Graceful deletion: marked first, gone when its containers have stopped."""
    rig.apply(pod())
    await rig.advance(2)
    rig.api.delete(rig.api.catalog.named("pods"), "p", "default")
    await rig.advance(0.5)
    assert rig.get("pods", "p")["metadata"]["deletionTimestamp"]
    assert "Killing" in rig.reasons("p")
    await rig.advance(1.5)
    assert rig.names("pods") == []


async def test_a_node_that_is_down_does_nothing_until_it_is_back(rig: Any) -> None:
    """The annotation makes it NotReady: pods are neither started nor stopped there, until it is taken off."""
    rig.apply(pod())
    await rig.advance(2)
    node = rig.get("pods", "p")["spec"]["nodeName"]
    rig.change("nodes", node, lambda value: value["metadata"].update(annotations={"kubesched.io/down": "true"}))
    await rig.advance(0.5)
    assert _condition(rig.get("nodes", node), "Ready") == "False"
    assert _condition(rig.get("pods", "p"), "Ready") == "False"
    rig.api.delete(rig.api.catalog.named("pods"), "p", "default")
    await rig.advance(10)
    assert rig.names("pods") == ["p"]
    rig.change("nodes", node, lambda value: value["metadata"].pop("annotations"))
    await rig.advance(2)
    assert _condition(rig.get("nodes", node), "Ready") == "True"
    assert rig.names("pods") == []


async def test_a_node_that_a_user_creates_is_played_too(rig: Any) -> None:
    """Every Node object has a kubelet; what it offers is completed."""
    rig.apply("{apiVersion: v1, kind: Node, metadata: {name: mine}, status: {capacity: {cpu: '2', memory: 4Gi}}}")
    await rig.advance(0.5)
    node = rig.get("nodes", "mine")
    assert node["status"]["allocatable"] == {"cpu": "2", "memory": "4Gi", "pods": "110"}
    assert _condition(node, "Ready") == "True"
    rig.api.delete(rig.api.catalog.named("nodes"), "mine")
    await rig.advance(0.5)
    assert "mine" not in rig.names("leases.coordination.k8s.io", "kube-node-lease")


def _condition(value: Json, kind: str) -> str:
    return next(str(item["status"]) for item in value["status"]["conditions"] if item["type"] == kind)
