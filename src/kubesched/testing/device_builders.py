"""Devices, device classes and resource claims, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kubesched.objects import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice, convert
from kubesched.testing.builders import Json, plain


def make_resource_slice(
    name: str = "slice",
    *,
    driver: str = "gpu.example.com",
    pool: str = "",
    node: str = "",
    devices: Iterable[Json | str] = (),
    generation: int = 1,
    slice_count: int = 1,
    spec: Json | None = None,
) -> ResourceSlice:
    """Devices that `driver` offers on `node` (or on all nodes). A device may be just its name."""
    where: dict[str, Any] = {"nodeName": node} if node else {"allNodes": True}
    offer = {
        "metadata": {"name": name, "uid": name},
        "spec": {
            "driver": driver,
            "pool": {"name": pool or node or name, "generation": generation, "resourceSliceCount": slice_count},
            **where,
            "devices": [{"name": device} if isinstance(device, str) else plain(device) for device in devices],
            **(plain(spec) or {}),
        },
    }
    return convert(offer, ResourceSlice)


def make_devices_of(node: str, count: int, *, taken: int = 0) -> tuple[ResourceSlice, ResourceClaim]:
    """Devices of a node, and a claim that has some of them."""
    offer = make_resource_slice(f"devices-of-{node}", node=node, devices=[f"device-{k}" for k in range(count)])
    results = [
        {"request": "req", "driver": offer.spec.driver, "pool": offer.spec.pool.name, "device": device.name}
        for device in offer.spec.devices[:taken]
    ]
    return offer, make_resource_claim(f"taken-of-{node}", count=taken, allocation={"devices": {"results": results}})


def make_device_class(
    name: str = "gpu", *, selectors: Iterable[str] = (), extended_resource: str | None = None
) -> DeviceClass:
    """A class of devices that all CEL `selectors` accept."""
    spec = {
        "selectors": [{"cel": {"expression": expression}} for expression in selectors],
        "extendedResourceName": extended_resource,
    }
    return convert({"metadata": {"name": name, "uid": name}, "spec": spec}, DeviceClass)


def make_device_taint_rule(
    name: str = "rule", *, effect: str = "NoSchedule", selector: Json | None = None, key: str = "example.com/broken"
) -> DeviceTaintRule:
    """A taint for all devices that `selector` (driver, pool, device) selects."""
    spec = {"deviceSelector": plain(selector), "taint": {"key": key, "effect": effect}}
    return convert({"metadata": {"name": name, "uid": name}, "spec": spec}, DeviceTaintRule)


def make_resource_claim(
    name: str = "claim",
    *,
    namespace: str = "default",
    device_class: str = "gpu",
    count: int = 1,
    requests: Sequence[Json] | None = None,
    constraints: Sequence[Json] = (),
    allocation: Json | None = None,
    reserved_for: Sequence[Json] = (),
    owner: Json | None = None,
    deleting: bool = False,
) -> ResourceClaim:
    """A claim for `count` devices of `device_class`; `requests` replaces that request."""
    manifest = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}",
            "ownerReferences": [{"controller": True, **plain(owner)}] if owner else [],
            "deletionTimestamp": "2024-01-01T00:00:00Z" if deleting else None,
        },
        "spec": {"devices": {"requests": _requests(device_class, count, requests), "constraints": plain(constraints)}},
        "status": {"allocation": plain(allocation), "reservedFor": plain(reserved_for)},
    }
    return convert(manifest, ResourceClaim)


def make_resource_claim_template(
    name: str = "template",
    *,
    namespace: str = "default",
    device_class: str = "gpu",
    count: int = 1,
    requests: Sequence[Json] | None = None,
) -> ResourceClaimTemplate:
    manifest = {
        "metadata": {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"},
        "spec": {"spec": {"devices": {"requests": _requests(device_class, count, requests)}}},
    }
    return convert(manifest, ResourceClaimTemplate)


def _requests(device_class: str, count: int, requests: Sequence[Json] | None) -> Any:
    if requests is not None:
        return plain(requests)
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return [{"name": "req", "exactly": exactly}]
