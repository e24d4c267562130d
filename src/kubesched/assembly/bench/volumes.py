"""Volumes of benchmark pods: each pod its own claim, bound to a volume of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from kubesched.objects import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
    convert,
)

_BIND_COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


def bound_claim(volume: Mapping[str, Any], claim: Mapping[str, Any], namespace: str, index: int) -> list[Any]:
    """A volume and a claim that are bound to each other (CreatePodWithPersistentVolume)."""
    volume_name, claim_name = f"{namespace}-pv-{index}", f"pvc-{index}"
    spec = dict(volume["spec"])
    if "csi" in spec:
        spec["csi"] = {**spec["csi"], "volumeHandle": volume_name}
    if "awsElasticBlockStore" in spec:
        spec["awsElasticBlockStore"] = {**spec["awsElasticBlockStore"], "volumeID": volume_name}
    spec["claimRef"] = {
        "kind": "PersistentVolumeClaim",
        "namespace": namespace,
        "name": claim_name,
        "uid": f"PersistentVolumeClaim/{namespace}/{claim_name}",
    }
    metadata = {**volume.get("metadata", {}), "name": volume_name}
    bound_volume = convert({"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}, PersistentVolume)
    bound = convert(
        {
            "metadata": {
                **claim.get("metadata", {}),
                "name": claim_name,
                "namespace": namespace,
                "annotations": _BIND_COMPLETED,
            },
            "spec": {**claim["spec"], "volumeName": volume_name},
            "status": {"phase": "Bound"},
        },
        PersistentVolumeClaim,
    )
    return [bound_volume, bound]


def with_claim(pod: Pod, claim_name: str) -> Pod:
    volume = Volume(name="vol", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim_name))
    return replace(pod, spec=replace(pod.spec, volumes=(*pod.spec.volumes, volume)))


def csi_node(name: str, strategy: Mapping[str, Any]) -> CSINode:
    """A node's CSI drivers with their limits, as the allocatable strategy describes them."""
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": limits}
        for driver, limits in strategy["csiNodeAllocatable"].items()
    ]
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(strategy.get("migratedPlugins") or ())}
    return convert({"metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}, CSINode)
