"""Deployments and their ReplicaSets."""

from __future__ import annotations

from typing import Any

from kubesched.objects.base import Json

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {team: shop}}
spec:
  replicas: %d
  strategy: {type: %s}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'nginx:1'}]}
"""
REVISION = "deployment.kubernetes.io/revision"


def deployment(replicas: int = 4, strategy: str = "RollingUpdate") -> str:
    return DEPLOYMENT % (replicas, strategy)


def set_image(image: str) -> Any:
    return lambda value: value["spec"]["template"]["spec"]["containers"][0].update(image=image)


def conditions(value: Json) -> dict[str, tuple[str, str]]:
    return {item["type"]: (item["status"], item["reason"]) for item in value["status"]["conditions"]}


async def test_a_deployment_runs_its_replicas(rig: Any) -> None:
    """One ReplicaSet, its pods, and a status that says so."""
    rig.apply(deployment())
    await rig.advance(2)
    status = rig.get("deployments.apps", "web")["status"]
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    assert [status[key] for key in counts] == [4, 4, 4, 4]
    assert conditions({"status": status}) == {
        "Progressing": ("True", "NewReplicaSetAvailable"),
        "Available": ("True", "MinimumReplicasAvailable"),
    }
    (replica_set,) = rig.items("replicasets.apps")
    assert replica_set["metadata"]["annotations"]["team"] == "shop"
    assert replica_set["metadata"]["annotations"][REVISION] == "1"
    assert "ScalingReplicaSet" in rig.reasons("web")


async def test_a_new_template_rolls_out_without_an_outage(rig: Any) -> None:
    """At every moment at least three of four pods are ready, and at most five exist."""
    rig.apply(deployment())
    await rig.advance(2)
    rig.change("deployments.apps", "web", set_image("nginx:2"))
    for _ in range(160):
        await rig.advance(0.05)
        pods = [pod for pod in rig.items("pods") if not pod["metadata"].get("deletionTimestamp")]
        ready = [pod for pod in pods if (pod["status"].get("phase")) == "Running"]
        assert len(ready) >= 3
        assert len(pods) <= 5
    images = {pod["spec"]["containers"][0]["image"] for pod in rig.items("pods")}
    assert images == {"nginx:2"}
    assert rig.get("deployments.apps", "web")["metadata"]["annotations"][REVISION] == "2"


async def test_going_back_uses_the_old_replica_set_again(rig: Any) -> None:
    """`kubectl rollout undo` writes the old template: its ReplicaSet becomes the newest revision."""
    rig.apply(deployment())
    await rig.advance(2)
    first = rig.names("replicasets.apps")
    rig.change("deployments.apps", "web", set_image("nginx:2"))
    await rig.advance(8)
    rig.change("deployments.apps", "web", set_image("nginx:1"))
    await rig.advance(8)
    assert len(rig.names("replicasets.apps")) == 2
    back = rig.get("replicasets.apps", first[0])
    assert back["spec"]["replicas"] == 4
    assert back["metadata"]["annotations"][REVISION] == "3"
    assert back["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


async def test_recreate_ends_the_old_pods_first(rig: Any) -> None:
    """Old and new pods never exist together."""
    rig.apply(deployment(strategy="Recreate"))
    await rig.advance(2)
    rig.change("deployments.apps", "web", set_image("nginx:2"))
    for _ in range(100):
        await rig.advance(0.05)
        assert len({pod["spec"]["containers"][0]["image"] for pod in rig.items("pods")}) <= 1
    assert rig.get("deployments.apps", "web")["status"]["availableReplicas"] == 4


async def test_scaling_and_pausing(rig: Any) -> None:
    """A paused deployment scales but does not roll out."""
    rig.apply(deployment())
    await rig.advance(2)
    rig.change("deployments.apps", "web", lambda value: value["spec"].update(paused=True))
    rig.change("deployments.apps", "web", set_image("nginx:2"))
    rig.change("deployments.apps", "web", lambda value: value["spec"].update(replicas=6))
    await rig.advance(3)
    assert {pod["spec"]["containers"][0]["image"] for pod in rig.items("pods")} == {"nginx:1"}
    assert len(rig.items("pods")) == 6
    assert conditions(rig.get("deployments.apps", "web"))["Progressing"] == ("Unknown", "DeploymentPaused")
    rig.change("deployments.apps", "web", lambda value: value["spec"].update(paused=False))
    await rig.advance(10)
    assert {pod["spec"]["containers"][0]["image"] for pod in rig.items("pods")} == {"nginx:2"}


async def test_a_rollout_that_gets_nowhere_says_so(rig: Any) -> None:
    """After the progress deadline, the condition is False with ProgressDeadlineExceeded."""
    rig.apply(deployment())
    rig.change("deployments.apps", "web", lambda value: value["spec"].update(progressDeadlineSeconds=20))
    await rig.advance(2)
    rig.schedules = False
    rig.change("deployments.apps", "web", set_image("nginx:2"))
    await rig.advance(25)
    assert conditions(rig.get("deployments.apps", "web"))["Progressing"] == ("False", "ProgressDeadlineExceeded")


async def test_old_replica_sets_are_forgotten(rig: Any) -> None:
    """No more than the history limit stay."""
    rig.apply(deployment(1))
    rig.change("deployments.apps", "web", lambda value: value["spec"].update(revisionHistoryLimit=1))
    for number in range(2, 5):
        await rig.advance(4)
        rig.change("deployments.apps", "web", set_image(f"nginx:{number}"))
    await rig.advance(5)
    assert len(rig.names("replicasets.apps")) == 2


async def test_a_replica_set_adopts_and_releases_pods(rig: Any) -> None:
    """A pod without a controller that matches is taken; one whose labels no longer match is let go and replaced."""
    rig.apply(
        """
apiVersion: v1
kind: Pod
metadata: {name: stray, labels: {app: x}}
spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: x}
spec:
  replicas: 2
  selector: {matchLabels: {app: x}}
  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: nginx}]}}
"""
    )
    await rig.advance(2)
    assert len(rig.names("pods")) == 2
    rig.change("pods", "stray", lambda value: value["metadata"].update(labels={"app": "other"}))
    await rig.advance(2)
    assert len(rig.names("pods")) == 3
    assert not rig.get("pods", "stray")["metadata"].get("ownerReferences")


async def test_scaling_down_spares_the_pods_that_work(rig: Any) -> None:
    """Pods that wait for a node go before those that run."""
    rig.apply(deployment(3))
    await rig.advance(2)
    running = set(rig.names("pods"))
    rig.schedules = False
    rig.change("deployments.apps", "web", lambda value: value["spec"].update(replicas=6))
    await rig.advance(0.5)
    rig.change("deployments.apps", "web", lambda value: value["spec"].update(replicas=3))
    await rig.advance(0.5)
    assert set(rig.names("pods")) == running
