"""The objects of benchmarks: nodes, pods, volumes, and what a device driver would publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubesched.apps.bench.opcodes import CreateNodes, NodeAllocatable
from kubesched.apps.bench.templates import Manifest

HOSTNAME: Final = "kubernetes.io/hostname"

_ROOM: Final = {"pods": "110", "cpu": "4", "memory": "32Gi"}
DEFAULT_NODE: Final[Manifest] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"generateName": "scheduler-perf-"},
    "status": {
        "capacity": _ROOM,
        "allocatable": _ROOM,
        "conditions": [{"type": "Ready", "status": "True"}],
        "phase": "Running",
    },
}

_RESOURCES: Final = {"cpu": "100m", "memory": "500Mi"}
DEFAULT_POD: Final[Manifest] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10.1",
                "ports": [{"containerPort": 80}],
                "resources": {"requests": _RESOURCES, "limits": _RESOURCES},
            }
        ]
    },
}


def with_metadata(manifest: Manifest, **fields: Any) -> Manifest:
    """The object with other metadata; fields that are None stay as they are."""
    changes = {name: value for name, value in fields.items() if value is not None}
    return {**manifest, "metadata": {**(manifest.get("metadata") or {}), **changes}}


def labels_of(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}


def prepared_node(manifest: Manifest, name: str, index: int, op: CreateNodes, features: Sequence[str]) -> Manifest:
    """A node as the operation wants it: with a hostname, and labels and resources of its strategy."""
    labels = {**labels_of(manifest), HOSTNAME: name}
    if (label := op.label_node_prepare_strategy) is not None:
        labels[label.label_key] = label.label_values[index % len(label.label_values)]
    if op.unique_node_label_strategy is not None:
        labels[op.unique_node_label_strategy.label_key] = f"only-{name}"
    status = manifest.get("status") or {}
    extra = op.node_allocatable_strategy.node_allocatable if op.node_allocatable_strategy else {}
    room = {
        # The API server makes the capacity allocatable where a node says nothing else (SetDefaults_NodeStatus).
        "allocatable": {**(status.get("allocatable") or status.get("capacity") or {}), **extra},
        "capacity": {**(status.get("capacity") or {}), **extra},
    }
    declared = {"declaredFeatures": list(features)} if features else {}
    return {**with_metadata(manifest, name=name, labels=labels), "status": {**status, **room, **declared}}


def csi_node(name: str, strategy: NodeAllocatable) -> Manifest:
    """A node's CSI drivers with their limits."""
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": limits}
        for driver, limits in strategy.csi_node_allocatable.items()
    ]
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(strategy.migrated_plugins)}
    metadata = {"name": name, "annotations": migrated}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}


def bound_volume(volume: Manifest, claim: Manifest, namespace: str, index: int) -> list[Manifest]:
    """A claim and a volume that are bound to each other (CreatePodWithPersistentVolume)."""
    volume_name, claim_name = f"{namespace}-vol-{index}", f"pvc-{index}"
    spec = dict(volume["spec"])
    if "csi" in spec:
        spec["csi"] = {**spec["csi"], "volumeHandle": volume_name}
    if "awsElasticBlockStore" in spec:
        spec["awsElasticBlockStore"] = {**spec["awsElasticBlockStore"], "volumeID": f"vol-{index}"}
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim_name}
    annotations = {**(claim.get("metadata") or {}).get("annotations", {}), "pv.kubernetes.io/bind-completed": "true"}
    return [
        {
            **with_metadata(claim, name=claim_name, namespace=namespace, annotations=annotations),
            "spec": {**claim["spec"], "volumeName": volume_name},
            "status": {"phase": "Bound"},
        },
        {
            **with_metadata(volume, name=volume_name),
            "spec": {**spec, "claimRef": reference},
            "status": {"phase": "Bound"},
        },
    ]


def with_volume(pod: Manifest, claim_name: str) -> Manifest:
    volume = {"name": "vol", "persistentVolumeClaim": {"claimName": claim_name}}
    return {**pod, "spec": {**pod["spec"], "volumes": [volume]}}


def device_slice(driver: str, node_name: str, devices: int) -> Manifest:
    """A node's devices, with the attributes that scheduler_perf's test driver gives them."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node_name},
        "spec": {
            "driver": driver,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": 0, "resourceSliceCount": 1},
            "devices": [_device(index) for index in range(devices)],
        },
    }


def _device(index: int) -> Manifest:
    return {
        "name": f"instance-{index}",
        "attributes": {
            "model": {"string": "A100"},
            "family": {"string": "GPU"},
            "driverVersion": {"version": "1.2.3"},
            "dra.example.com/numa": {"int": index},
        },
        "capacity": {"memory": {"value": "1Gi"}},
    }


def claims_of_templates(pod: Manifest, templates: Mapping[str, Manifest]) -> tuple[list[Manifest], Manifest]:
    """What the claim controller makes: the claims of a pod's claim templates, and the pod with their names.

    `templates` are by name, those of the pod's namespace.
    """
    metadata = pod["metadata"]
    claims, statuses = [], []
    for claim in pod["spec"].get("resourceClaims") or ():
        source = claim.get("resourceClaimTemplateName")
        if source is None:
            continue
        name = f"{metadata['name']}-{claim['name']}"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        claims.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {
                    "name": name,
                    "namespace": metadata["namespace"],
                    "ownerReferences": [{**owner, "controller": True}],
                },
                "spec": templates[source]["spec"]["spec"],
            }
        )
        statuses.append({"name": claim["name"], "resourceClaimName": name})
    if not claims:
        return [], pod
    return claims, {**pod, "status": {**(pod.get("status") or {}), "resourceClaimStatuses": statuses}}


def allocated(claim: Manifest, node_name: str, results: Sequence[Mapping[str, str]]) -> Manifest:
    """A claim with these devices of one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    allocation = {
        "devices": {"results": list(results)},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    return {**claim, "status": {"allocation": allocation}}
