"""What recent versions of Kubernetes decide otherwise than those before, for random clusters.

Added to a cluster by chance of its own, so that the clusters of older seeds stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.differential.devices import API, DRIVER

from kubesched.objects.base import Json

AMOUNTS = ("100m", "500m", "1", "2")


def add_recent(rng: Random, nodes: Sequence[str], objects: list[Json], subject: Json) -> None:
    """Changes some of the objects, and adds others."""
    placed = [obj for obj in objects if obj["kind"] == "Pod" and "nodeName" in obj["spec"]]
    if rng.random() < 0.25:
        _add_image_volumes(rng, subject)
    if rng.random() < 0.4:
        for pod in placed:
            if rng.random() < 0.5:
                _resize(rng, pod)
    if rng.random() < 0.1:
        subject["spec"]["nodeName"] = rng.choice((*nodes, "unknown"))
    if rng.random() < 0.3:
        _open_namespaces(rng, [subject, *placed])
    if rng.random() < 0.3 and "resourceClaims" not in subject["spec"]:
        objects += _partitions_and_claim(rng, nodes, subject)


def _add_image_volumes(rng: Random, pod: Json) -> None:
    volumes = pod["spec"].setdefault("volumes", [])
    volumes += [{"name": f"image-{k}", "image": {"reference": f"image-{rng.randrange(5)}:v1"}} for k in range(2)]


def _resize(rng: Random, pod: Json) -> None:
    """A resize in place that is under way, done, deferred or infeasible."""
    status, spec = pod["status"], pod["spec"]
    for where, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        found = [_container_status(rng, each) for each in spec.get(containers, ()) if rng.random() < 0.8]
        if found:
            status[where] = found
    if rng.random() < 0.4:
        reason = rng.choice(("Infeasible", "Deferred"))
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    if rng.random() < 0.3:
        status["resources"] = {"requests": {"cpu": rng.choice(AMOUNTS), "memory": "64Mi"}}
    if rng.random() < 0.3:
        status["allocatedResources"] = {"cpu": rng.choice(AMOUNTS)}


def _container_status(rng: Random, container: Json) -> Json:
    status: Json = {"name": container["name"], "image": container["image"], "imageID": "", "ready": True}
    status["restartCount"] = 0
    if rng.random() < 0.7:
        status["allocatedResources"] = {"cpu": rng.choice(AMOUNTS)}
        if rng.random() < 0.5:
            status["allocatedResources"]["memory"] = "128Mi"
    if rng.random() < 0.7:
        status["resources"] = {"requests": {"cpu": rng.choice(AMOUNTS)}}
    return status


def _open_namespaces(rng: Random, pods: Sequence[Json]) -> None:
    """Terms of affinity whose namespace selector also holds without labels."""
    for pod in pods:
        for kind in (pod["spec"].get("affinity") or {}).values():
            for term in kind.get("requiredDuringSchedulingIgnoredDuringExecution", ()):
                if isinstance(term, dict) and "topologyKey" in term and rng.random() < 0.6:
                    requirement = rng.choice(
                        ({"operator": "NotIn", "values": ["a"]}, {"operator": "DoesNotExist"}, {"operator": "Exists"})
                    )
                    term["namespaceSelector"] = {"matchExpressions": [{"key": "team", **requirement}]}


# ---- devices ----------------------------------------------------------------------------------------------------


def _partitions_and_claim(rng: Random, nodes: Sequence[str], subject: Json) -> list[Json]:
    """Pools with counters that devices share, and a claim of the subject for some of the devices."""
    objects: list[Json] = [_class()]
    for name in nodes:
        if rng.random() < 0.8:
            objects += _partitioned(rng, name)
    taken = [_taken(rng, obj, k) for k, obj in enumerate(objects) if obj["kind"] == "ResourceSlice"]
    objects += [claim for claim in taken if claim is not None]
    namespace = subject["metadata"]["namespace"]
    subject["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimName": "wanted"}]
    metadata = {"name": "wanted", "namespace": namespace, "uid": "claim-wanted"}
    spec = {"devices": _devices_wanted(rng)}
    return [*objects, {"apiVersion": API, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}]


def _class() -> Json:
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": "part"}, "spec": {"selectors": selectors}}


def _partitioned(rng: Random, node: str) -> list[Json]:
    pool = {"name": f"parts-of-{node}", "generation": 1, "resourceSliceCount": rng.choice((2, 2, 2, 3))}
    counters = [{"name": "unit", "counters": {"slots": {"value": str(rng.randint(1, 4))}}}]
    where: Json = rng.choice(({"nodeName": node}, {"nodeName": node}, {"allNodes": True}))
    devices = [_part(rng, f"part-{k}") for k in range(rng.randint(1, 4))]
    return [
        _slice(f"counters-{node}", pool, where, sharedCounters=counters),
        _slice(f"parts-{node}", pool, {"nodeName": node}, devices=devices),
    ]


def _slice(name: str, pool: Json, where: Json, **spec: object) -> Json:
    metadata = {"name": name, "uid": name}
    whole = {"driver": DRIVER, "pool": pool, **where, **spec}
    return {"apiVersion": API, "kind": "ResourceSlice", "metadata": metadata, "spec": whole}


def _part(rng: Random, name: str) -> Json:
    device: Json = {"name": name, "attributes": {"numa": {"int": rng.randrange(3)}}}
    if rng.random() < 0.8:
        uses = {"counterSet": "unit", "counters": {"slots": {"value": str(rng.randint(1, 2))}}}
        if rng.random() < 0.1:
            uses["compatibilityGroups"] = ["g"]
        device["consumesCounters"] = [uses]
    if rng.random() < 0.5:
        device["allowMultipleAllocations"] = True
        if rng.random() < 0.7:
            device["capacity"] = {"memory": {"value": rng.choice(("4", "10")), **_policy(rng)}}
    return device


def _policy(rng: Random) -> Json:
    step = rng.choice(("500m", "1", "3"))
    ranges: list[Json] = [
        {"default": "1", "validRange": {"min": "1", "max": "9", "step": step}},
        {"default": "2", "validRange": {"min": "500m", "step": step}},
        {"default": "1", "validValues": ["1", "2", "8"]},
    ]
    return {"requestPolicy": rng.choice(ranges)} if rng.random() < 0.6 else {}


def _taken(rng: Random, offer: Json, number: int) -> Json | None:
    """A claim that has a device, or a share of it, with or without capacity."""
    devices = offer["spec"].get("devices")
    if not devices or rng.random() < 0.5:
        return None
    device = rng.choice(devices)
    result: Json = {"request": "r0", "driver": DRIVER, "pool": offer["spec"]["pool"]["name"], "device": device["name"]}
    if device.get("allowMultipleAllocations"):
        result["shareID"] = f"00000000-0000-4000-8000-{rng.randrange(10**12):012}"
        if "capacity" in device and rng.random() < 0.7:
            result["consumedCapacity"] = {"memory": rng.choice(("1", "2", "4"))}
    metadata = {"name": f"taken-{number}", "namespace": "default", "uid": f"taken-{number}"}
    request = {"name": "r0", "exactly": {"deviceClassName": "part", "allocationMode": "ExactCount", "count": 1}}
    status = {"allocation": {"devices": {"results": [result]}}}
    spec = {"devices": {"requests": [request]}}
    return {"apiVersion": API, "kind": "ResourceClaim", "metadata": metadata, "spec": spec, "status": status}


def _devices_wanted(rng: Random) -> Json:
    requests = []
    for k in range(rng.choice((1, 1, 2))):
        wish: Json = {"deviceClassName": "part", "allocationMode": "ExactCount", "count": rng.choice((1, 2, 3, 33))}
        if rng.random() < 0.3:
            wish = {"deviceClassName": "part", "allocationMode": "All"}
        elif wish["count"] == 33 and rng.random() < 0.8:
            wish["count"] = 1
        if rng.random() < 0.4:
            amounts = ("1", "700m", "2500m", "5", "100u", "99999999999999999999")
            wish["capacity"] = {"requests": {"memory": rng.choice(amounts)}}
        requests.append({"name": f"r{k}", "exactly": wish})
    devices: Json = {"requests": requests}
    if rng.random() < 0.4:
        devices["constraints"] = [{rng.choice(("distinctAttribute", "matchAttribute")): f"{DRIVER}/numa"}]
    return devices
