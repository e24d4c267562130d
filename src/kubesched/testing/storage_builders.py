"""Volumes, claims, storage classes and what CSI drivers report, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesched.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    convert,
)
from kubesched.testing.builders import Json, plain


def make_pv(
    name: str = "pv",
    *,
    capacity: str = "1Gi",
    access_modes: Sequence[str] = ("ReadWriteOnce",),
    storage_class: str = "",
    claim: str = "",
    phase: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node_affinity: Json | None = None,
    spec: Json | None = None,
) -> PersistentVolume:
    """A persistent volume; `claim` (`namespace/name`) binds it; its source goes into `spec`, as in a manifest.

    `node_affinity` is a node selector: the nodes from which the volume can be reached.
    """
    namespace, _, claim_name = claim.rpartition("/")
    reference = {"namespace": namespace, "name": claim_name, "uid": claim}
    volume = {
        "metadata": {"name": name, "uid": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})},
        "spec": {
            "capacity": {"storage": capacity},
            "accessModes": list(access_modes),
            "storageClassName": storage_class,
            "claimRef": reference if claim else None,
            "nodeAffinity": {"required": plain(node_affinity)} if node_affinity else None,
            **(plain(spec) or {}),
        },
        "status": {"phase": phase or ("Bound" if claim else "Available")},
    }
    return convert(volume, PersistentVolume)


def make_pvc(
    name: str = "pvc",
    *,
    namespace: str = "default",
    volume: str = "",
    storage: str = "1Gi",
    access_modes: Sequence[str] = ("ReadWriteOnce",),
    storage_class: str | None = None,
    phase: str = "",
    annotations: Mapping[str, str] | None = None,
    deleting: bool = False,
    spec: Json | None = None,
) -> PersistentVolumeClaim:
    """A claim; `volume` binds it, with the annotation that the binding is complete."""
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    claim = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}",
            "annotations": {**bound, **(annotations or {})},
            "deletionTimestamp": "2024-01-01T00:00:00Z" if deleting else None,
        },
        "spec": {
            "accessModes": list(access_modes),
            "resources": {"requests": {"storage": storage}},
            "storageClassName": storage_class,
            "volumeName": volume,
            **(plain(spec) or {}),
        },
        "status": {"phase": phase or ("Bound" if volume else "Pending")},
    }
    return convert(claim, PersistentVolumeClaim)


def make_storage_class(
    name: str = "sc",
    *,
    provisioner: str = "csi.example.com",
    wait_for_first_consumer: bool = False,
    allowed_topologies: Sequence[Json] = (),
    parameters: Mapping[str, str] | None = None,
) -> StorageClass:
    storage_class = {
        "metadata": {"name": name, "uid": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if wait_for_first_consumer else "Immediate",
        "allowedTopologies": plain(allowed_topologies),
        "parameters": dict(parameters or {}),
    }
    return convert(storage_class, StorageClass)


def make_csi_node(
    name: str = "n",
    *,
    limits: Mapping[str, int | None] | None = None,
    topology_keys: Sequence[str] = (),
    annotations: Mapping[str, str] | None = None,
) -> CSINode:
    """The CSI drivers on a node: `limits` maps each driver to how many volumes it can attach (None: unlimited)."""
    drivers: list[dict[str, Any]] = [
        {
            "name": driver,
            "nodeID": name,
            "topologyKeys": list(topology_keys),
            "allocatable": None if count is None else {"count": count},
        }
        for driver, count in (limits or {}).items()
    ]
    metadata = {"name": name, "uid": name, "annotations": dict(annotations or {})}
    return convert({"metadata": metadata, "spec": {"drivers": drivers}}, CSINode)


def make_csi_driver(name: str = "csi.example.com", *, storage_capacity: bool = False) -> CSIDriver:
    return convert({"metadata": {"name": name}, "spec": {"storageCapacity": storage_capacity}}, CSIDriver)


def make_csi_capacity(
    name: str = "capacity",
    *,
    namespace: str = "default",
    storage_class: str = "sc",
    capacity: str | None = None,
    maximum_volume_size: str | None = None,
    node_topology: Json | None = None,
) -> CSIStorageCapacity:
    """How much a driver can still provision on the nodes that `node_topology` (a label selector) selects."""
    report = {
        "metadata": {"name": name, "namespace": namespace},
        "storageClassName": storage_class,
        "capacity": capacity,
        "maximumVolumeSize": maximum_volume_size,
        "nodeTopology": plain(node_topology),
    }
    return convert(report, CSIStorageCapacity)


def make_volume_attachment(name: str = "attachment", *, attacher: str, node: str, volume: str) -> VolumeAttachment:
    attachment = {
        "metadata": {"name": name},
        "spec": {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}},
        "status": {"attached": True},
    }
    return convert(attachment, VolumeAttachment)
