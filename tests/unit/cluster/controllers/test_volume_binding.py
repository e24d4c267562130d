"""Claims and volumes."""

from __future__ import annotations

from typing import Any

CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %s}
provisioner: %s
reclaimPolicy: %s
volumeBindingMode: %s
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {storageClassName: '%s', accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
"""
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  storageClassName: '%s'
  capacity: {storage: %s}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /data}
"""


def claim(rig: Any) -> Any:
    return rig.get("persistentvolumeclaims", "c")


async def test_a_claim_takes_the_smallest_volume_that_suffices(rig: Any) -> None:
    """Both sides say so; the others stay available."""
    for name, size in (("small", "1Gi"), ("fits", "6Gi"), ("large", "50Gi")):
        rig.apply(VOLUME % (name, "manual", size))
    rig.apply(CLAIM % "manual")
    await rig.advance(0.5)
    assert claim(rig)["spec"]["volumeName"] == "fits"
    assert claim(rig)["status"]["phase"] == "Bound"
    assert claim(rig)["status"]["capacity"] == {"storage": "6Gi"}
    assert rig.get("persistentvolumes", "fits")["status"]["phase"] == "Bound"
    assert rig.get("persistentvolumes", "large")["status"]["phase"] == "Available"


async def test_a_claim_waits_for_a_volume(rig: Any) -> None:
    """It stays pending until one comes."""
    rig.apply(CLAIM % "manual")
    await rig.advance(0.5)
    assert claim(rig)["status"]["phase"] == "Pending"
    rig.apply(VOLUME % ("late", "manual", "5Gi"))
    await rig.advance(0.5)
    assert claim(rig)["status"]["phase"] == "Bound"


async def test_an_immediate_class_provisions_at_once(rig: Any) -> None:
    """A volume of the claim's size is made; with the claim it goes again."""
    rig.apply(CLASS % ("fast", "kubesched.io/simulated", "Delete", "Immediate"))
    rig.apply(CLAIM % "fast")
    await rig.advance(0.5)
    (volume,) = rig.items("persistentvolumes")
    assert volume["spec"]["capacity"] == {"storage": "5Gi"}
    assert claim(rig)["status"]["phase"] == "Bound"
    rig.api.delete(rig.api.catalog.named("persistentvolumeclaims"), "c", "default")
    await rig.advance(0.5)
    assert rig.items("persistentvolumes") == []


async def test_a_waiting_class_provisions_where_the_scheduler_says(rig: Any) -> None:
    """Nothing happens before the scheduler has chosen a node; then the volume is in that node's zone."""
    rig.apply(CLASS % ("lazy", "kubesched.io/simulated", "Retain", "WaitForFirstConsumer"))
    rig.apply(CLAIM % "lazy")
    await rig.advance(0.5)
    assert rig.items("persistentvolumes") == []
    assert "WaitForFirstConsumer" in rig.reasons("c")
    chosen = {"volume.kubernetes.io/selected-node": "node-2"}
    rig.change("persistentvolumeclaims", "c", lambda value: value["metadata"].update(annotations=chosen))
    await rig.advance(0.5)
    (volume,) = rig.items("persistentvolumes")
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["zone-b"]
    assert claim(rig)["status"]["phase"] == "Bound"
    rig.api.delete(rig.api.catalog.named("persistentvolumeclaims"), "c", "default")
    await rig.advance(0.5)
    assert rig.items("persistentvolumes")[0]["status"]["phase"] == "Released"


async def test_a_volume_that_the_scheduler_chose_is_bound(rig: Any) -> None:
    """The scheduler writes the claim into the volume; the rest of the binding follows."""
    rig.apply(CLASS % ("local", "kubernetes.io/no-provisioner", "Retain", "WaitForFirstConsumer"))
    rig.apply(VOLUME % ("disk", "local", "10Gi"))
    rig.apply(CLAIM % "local")
    await rig.advance(0.5)
    assert claim(rig)["status"]["phase"] == "Pending"
    reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default", "name": "c"}
    reference["uid"] = claim(rig)["metadata"]["uid"]
    rig.change("persistentvolumes", "disk", lambda value: value["spec"].update(claimRef=reference))
    await rig.advance(0.5)
    assert claim(rig)["spec"]["volumeName"] == "disk"
    assert claim(rig)["status"]["phase"] == "Bound"
