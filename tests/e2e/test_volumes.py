"""Volumes that wait for their first consumer."""

from __future__ import annotations

from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import node, pod
from tests.e2e.processes import eventually

from kubesched.objects.base import Json

CLAIM = "data"
NODE_WITH_DISK = "n2"


def test_a_claim_that_waits_for_its_first_consumer_decides_with_the_pod(
    cluster: ControlPlane, start_scheduler: StartScheduler
) -> None:
    """The pod goes to the one node whose local volume fits; the volume is reserved before the pod is bound."""
    admin = cluster.admin
    admin.create_all([node(name) for name in ("n1", NODE_WITH_DISK, "n3")])
    admin.create(
        {
            "kind": "StorageClass",
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    admin.create(local_volume("disk", NODE_WITH_DISK))
    admin.patch("PersistentVolume", "disk", {"status": {"phase": "Available"}}, subresource="status")
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    admin.create({"kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM}, "spec": claim})
    start_scheduler()
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": CLAIM}}
    admin.create(pod("database", cpu="1", volumes=[volume]))

    reserved = eventually(
        lambda: admin.get("PersistentVolume", "disk")["spec"].get("claimRef"), "the volume is reserved"
    )
    assert reserved["name"] == CLAIM
    assert not admin.node_of("database")
    finish_binding(cluster, "disk", CLAIM)
    eventually(lambda: admin.node_of("database") == NODE_WITH_DISK, "the pod is placed")


def local_volume(name: str, node_name: str) -> Json:
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node_name]}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/mnt/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
        },
    }


def finish_binding(cluster: ControlPlane, volume: str, claim: str) -> None:
    """The persistent volume controller's part."""
    admin = cluster.admin
    annotations = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    bound = {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume}}
    admin.patch("PersistentVolumeClaim", claim, bound)
    admin.patch("PersistentVolume", volume, {"status": {"phase": "Bound"}}, subresource="status")
    admin.patch("PersistentVolumeClaim", claim, {"status": {"phase": "Bound"}}, subresource="status")
