"""Persistent volumes and their claims, for random clusters."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from kubesched.objects.base import Json

DRIVER = "csi.example.com"
ZONE = "topology.kubernetes.io/zone"


def claims_and_volumes(rng: Random, nodes: Sequence[str], pods: Sequence[Json]) -> list[Json]:
    """Gives some of the pods volumes: claims that are bound, or that wait for the pod."""
    objects = [_class("wait", DRIVER), _class("local", "kubernetes.io/no-provisioner")]
    objects += [_csi_node(rng, name) for name in nodes if rng.random() < 0.8]
    if rng.random() < 0.5:
        objects += [_csi_driver(), *(_capacity(rng, zone) for zone in ("z1", "z2"))]
    objects += [_volume(rng, f"free-{k}", rng.choice(("wait", "local", "local")), nodes) for k in range(4)]
    for pod in pods:
        if rng.random() < 0.5 or pod["metadata"]["name"] == "subject":
            name, namespace = f"of-{pod['metadata']['name']}", pod["metadata"]["namespace"]
            pod["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
            if rng.random() < 0.95:
                objects += _claim(rng, name, namespace, nodes, is_bound="nodeName" in pod["spec"])
    return objects


def _class(name: str, provisioner: str) -> Json:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name, "uid": name}}
    return {**kind, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}


def _csi_driver() -> Json:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": DRIVER, "uid": DRIVER}}
    return {**kind, "spec": {"attachRequired": True, "storageCapacity": True}}


def _capacity(rng: Random, zone: str) -> Json:
    metadata = {"name": zone, "namespace": "default", "uid": zone}
    found = {"storageClassName": "wait", "capacity": rng.choice(("0", "2Gi", "99Gi"))}
    topology = {"nodeTopology": {"matchLabels": {ZONE: zone}}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": metadata, **found, **topology}


def _csi_node(rng: Random, name: str) -> Json:
    driver: Json = {"name": DRIVER, "nodeID": name}
    if rng.random() < 0.7:
        driver["allocatable"] = {"count": rng.randint(0, 3)}
    metadata = {"name": name, "uid": f"csi-{name}"}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": [driver]}}


def _volume(rng: Random, name: str, storage_class: str, nodes: Sequence[str]) -> Json:
    # Sizes differ, so that it is not left to chance which volume a claim gets.
    size = f"{rng.randint(1, 9) * 1000 + rng.randrange(1000)}Mi"
    spec: Json = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}
    spec |= {"volumeMode": "Filesystem", "csi": {"driver": DRIVER, "volumeHandle": name}}
    if rng.random() < 0.6:
        key, values = rng.choice((("kubernetes.io/hostname", rng.sample(nodes, 2)), (ZONE, ["z1"])))
        terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": values}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    metadata: Json = {"name": name, "uid": f"volume-{name}"}
    if rng.random() < 0.2:
        metadata["labels"] = {ZONE: rng.choice(("z1", "z2__z3"))}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def _claim(rng: Random, name: str, namespace: str, nodes: Sequence[str], *, is_bound: bool) -> list[Json]:
    metadata: Json = {"name": name, "namespace": namespace, "uid": f"claim-{name}"}
    storage_class = rng.choice(("wait", "local", "unknown"))
    size = {"requests": {"storage": rng.choice(("1Gi", "4Gi"))}}
    spec: Json = {"accessModes": ["ReadWriteOnce"], "resources": size, "storageClassName": storage_class}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    if not is_bound and rng.random() < 0.7:
        return [claim | {"status": {"phase": "Pending"}}]
    volume = _volume(rng, f"bound-{name}", storage_class, nodes)
    volume["spec"]["claimRef"] = {"namespace": namespace, "name": name, "uid": metadata["uid"]}
    metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    spec["volumeName"] = volume["metadata"]["name"]
    return [claim | {"status": {"phase": "Bound"}}, volume]
