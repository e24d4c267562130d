"""StatefulSets."""

from __future__ import annotations

from typing import Any

STATEFUL = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubesched.io/simulated
volumeBindingMode: Immediate
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 3
  podManagementPolicy: %s
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: 'db:1', volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


def set_image(image: str) -> Any:
    return lambda value: value["spec"]["template"]["spec"]["containers"][0].update(image=image)


def images(rig: Any) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in rig.items("pods")]


async def test_pods_come_one_after_the_other_with_their_claims(rig: Any) -> None:
    """Each waits until the one before is ready."""
    rig.apply(STATEFUL % "OrderedReady")
    await rig.advance(0.5)
    assert rig.names("pods") == ["db-0"]
    await rig.advance(5)
    assert rig.names("pods") == ["db-0", "db-1", "db-2"]
    assert rig.names("persistentvolumeclaims") == ["data-db-0", "data-db-1", "data-db-2"]
    pod = rig.get("pods", "db-1")
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
    assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}}]
    status = rig.get("statefulsets.apps", "db")["status"]
    assert status["readyReplicas"] == status["currentReplicas"] == status["availableReplicas"] == 3
    assert status["currentRevision"] == status["updateRevision"]


async def test_parallel_pods_come_together(rig: Any) -> None:
    """`podManagementPolicy: Parallel` does not wait."""
    rig.apply(STATEFUL % "Parallel")
    await rig.advance(0.5)
    assert rig.names("pods") == ["db-0", "db-1", "db-2"]


async def test_scaling_down_goes_backwards_and_keeps_the_claims(rig: Any) -> None:
    """The highest goes first, and the next only when it is gone."""
    rig.apply(STATEFUL % "OrderedReady")
    await rig.advance(5)
    rig.change("statefulsets.apps", "db", lambda value: value["spec"].update(replicas=1))
    await rig.advance(0.5)
    leaving = [pod["metadata"]["name"] for pod in rig.items("pods") if pod["metadata"].get("deletionTimestamp")]
    assert leaving == ["db-2"]
    await rig.advance(5)
    assert rig.names("pods") == ["db-0"]
    assert len(rig.names("persistentvolumeclaims")) == 3


async def test_an_update_goes_backwards_down_to_the_partition(rig: Any) -> None:
    """Pods below the partition keep their template."""
    rig.apply(STATEFUL % "OrderedReady")
    await rig.advance(5)
    rig.change(
        "statefulsets.apps", "db", lambda value: value["spec"]["updateStrategy"]["rollingUpdate"].update(partition=1)
    )
    rig.change("statefulsets.apps", "db", set_image("db:2"))
    await rig.advance(12)
    assert images(rig) == ["db:1", "db:2", "db:2"]
    rig.change(
        "statefulsets.apps", "db", lambda value: value["spec"]["updateStrategy"]["rollingUpdate"].update(partition=0)
    )
    await rig.advance(5)
    assert images(rig) == ["db:2", "db:2", "db:2"]
    status = rig.get("statefulsets.apps", "db")["status"]
    assert status["currentRevision"] == status["updateRevision"]


async def test_a_deleted_pod_comes_back_under_its_name(rig: Any) -> None:
    """With the claim that it had."""
    rig.apply(STATEFUL % "OrderedReady")
    await rig.advance(5)
    before = rig.get("pods", "db-1")["metadata"]["uid"]
    rig.api.delete(rig.api.catalog.named("pods"), "db-1", "default")
    await rig.advance(4)
    assert rig.get("pods", "db-1")["metadata"]["uid"] != before
    assert len(rig.names("persistentvolumeclaims")) == 3
