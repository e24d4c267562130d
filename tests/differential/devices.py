"""Devices and claims for them, for random clusters."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from kubesched.objects.base import Json

API = "resource.k8s.io/v1"
DRIVER = "gpu.example.com"
SELECTORS = (
    f'device.attributes["{DRIVER}"].?model.orValue("") == "a"',
    f'device.attributes["{DRIVER}"].?numa.orValue(9) == 0',
    "device.allowMultipleAllocations == true",
    f'device.attributes["{DRIVER}"].numa == 0',  # fails where a device has no such attribute
)


def claims_and_devices(rng: Random, nodes: Sequence[str], pods: Sequence[Json]) -> list[Json]:
    """Gives some of the pods claims: allocated ones to pods that are placed."""
    slices = [_slice(rng, name, {"nodeName": name}) for name in nodes if rng.random() < 0.7]
    if rng.random() < 0.4:
        slices.append(_slice(rng, "everywhere", {"allNodes": True}))
    if rng.random() < 0.3:
        slices.append(_slice(rng, "mixed", {"perDeviceNodeSelection": True}, nodes))
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    spec = {"selectors": selectors, "extendedResourceName": "example.com/gpu"}
    objects: list[Json] = [
        *slices,
        {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec},
    ]
    for pod in pods:
        is_placed = "nodeName" in pod["spec"]
        if pod["metadata"]["name"] == "subject" or (is_placed and slices and rng.random() < 0.4):
            name = f"of-{pod['metadata']['name']}"
            pod["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimName": name}]
            claim = _claim(rng, name, pod["metadata"]["namespace"])
            if is_placed:
                claim["status"] = _allocation(rng, pod, rng.choice(slices))
            objects.append(claim)
    return objects


def _slice(rng: Random, pool: str, where: Json, nodes: Sequence[str] = ()) -> Json:
    devices = [_device(rng, f"dev-{k}") for k in range(rng.randint(1, 3))]
    if nodes:
        devices = [device | {"nodeName": rng.choice(nodes)} for device in devices]
    spec = {"driver": DRIVER, "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}, "devices": devices}
    metadata = {"name": f"slice-{pool}", "uid": f"slice-{pool}"}
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": metadata, "spec": spec | where}


def _device(rng: Random, name: str) -> Json:
    attributes: Json = {}
    if rng.random() < 0.8:
        attributes["model"] = {"string": rng.choice("ab")}
    if rng.random() < 0.8:
        attributes["numa"] = {"int": rng.randrange(2)}
    device: Json = {
        "name": name,
        "attributes": attributes,
        "capacity": {"memory": {"value": rng.choice(("8Gi", "16Gi"))}},
    }
    if rng.random() < 0.3:
        device["allowMultipleAllocations"] = True
        device["capacity"]["memory"]["requestPolicy"] = {"default": "2Gi"}
    if rng.random() < 0.1:
        device["taints"] = [{"key": "health", "value": "bad", "effect": "NoSchedule"}]
    return device


def _claim(rng: Random, name: str, namespace: str) -> Json:
    requests = []
    for k in range(rng.choice((1, 1, 2))):
        wishes = [_wish(rng) for _ in range(rng.randint(1, 2))]
        named = [{"name": f"s{n}", **wish} for n, wish in enumerate(wishes)]
        requests.append({"name": f"r{k}", **rng.choice(({"exactly": wishes[0]}, {"firstAvailable": named}))})
    devices: Json = {"requests": requests}
    if rng.random() < 0.3:
        devices["constraints"] = [{rng.choice(("matchAttribute", "distinctAttribute")): f"{DRIVER}/numa"}]
    metadata = {"name": name, "namespace": namespace, "uid": f"claim-{name}"}
    return {"apiVersion": API, "kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": devices}}


def _wish(rng: Random) -> Json:
    wish: Json = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": rng.choice((1, 1, 2))}
    if rng.random() < 0.15:
        wish = {"deviceClassName": "gpu", "allocationMode": "All"}
    if rng.random() < 0.4:
        wish["selectors"] = [{"cel": {"expression": rng.choice(SELECTORS)}}]
    if rng.random() < 0.2:
        wish["capacity"] = {"requests": {"memory": rng.choice(("4Gi", "10Gi"))}}
    if rng.random() < 0.2:
        wish["tolerations"] = [{"key": "health", "operator": "Exists"}]
    return wish


def _allocation(rng: Random, pod: Json, offer: Json) -> Json:
    device = rng.choice(offer["spec"]["devices"])
    result: Json = {"request": "r0", "driver": DRIVER, "pool": offer["spec"]["pool"]["name"], "device": device["name"]}
    if device.get("allowMultipleAllocations"):
        result["shareID"] = f"00000000-0000-4000-8000-{rng.randrange(10**12):012}"
        result["consumedCapacity"] = {"memory": "2Gi"}
    consumer = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    return {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
