"""Services and their pods: whom a service selects, and where its ports lead in a pod."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final

from kubesched.cluster.records import PodRecord, WorkloadRecord
from kubesched.objects.base import Json

HEADLESS: Final = "service.kubernetes.io/headless"  # the label of what belongs to a service without an address


def has_selector(service: WorkloadRecord) -> bool:
    """Its endpoints are ours to make; those of all others are made by hand."""
    return bool(service.spec.get("selector")) and service.spec.get("type") != "ExternalName"


def selects(service: WorkloadRecord, labels: Mapping[str, str]) -> bool:
    return has_selector(service) and service.spec["selector"].items() <= labels.items()


def is_headless(service: WorkloadRecord) -> bool:
    return service.spec.get("clusterIP") in (None, "", "None")


def publishes_unready(service: WorkloadRecord) -> bool:
    return bool(service.spec.get("publishNotReadyAddresses"))


def families(service: WorkloadRecord) -> list[str]:
    """IPv4, IPv6: the first is the one that the service prefers."""
    return list(service.spec.get("ipFamilies") or ("IPv4",))


def addresses(pod: PodRecord, family: str) -> list[str]:
    found = [ipaddress.ip_address(item.ip) for item in pod.status.pod_ips if item.ip]
    return sorted(str(address) for address in found if f"IPv{address.version}" == family)


def ports_in(service: WorkloadRecord, pod: PodRecord) -> list[Json]:
    """The ports of a service as they are in one pod; those that the pod does not have are left out."""
    found = []
    for port in service.spec.get("ports") or ():
        number = _find_port(pod, port)
        if number is None:
            continue
        resolved = {"name": port.get("name", ""), "port": number, "protocol": port.get("protocol", "TCP")}
        if port.get("appProtocol") is not None:
            resolved["appProtocol"] = port["appProtocol"]
        found.append(resolved)
    return found


def reference(pod: PodRecord) -> Json:
    metadata = pod.metadata
    return {"kind": "Pod", "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}


def hostname(service: WorkloadRecord, pod: PodRecord) -> str:
    """The name that the pod has below the service's (`ShouldSetHostname`); empty if it has none."""
    return pod.spec.hostname if pod.spec.subdomain == service.metadata.name else ""


def looks_the_same(old: PodRecord, new: PodRecord) -> bool:
    """Nothing changed of what services see (`podEndpointsChanged`)."""
    return (
        old.metadata.labels == new.metadata.labels
        and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
        and old.is_finished == new.is_finished
        and old.is_ready == new.is_ready
        and old.status.pod_ips == new.status.pod_ips
    )


def _find_port(pod: PodRecord, port: Json) -> int | None:
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target
    sidecars = (item for item in pod.spec.init_containers if item.restart_policy == "Always")
    for container in (*pod.spec.containers, *sidecars):
        for candidate in container.ports:
            if candidate.name == target and candidate.protocol == port.get("protocol", "TCP"):
                return candidate.container_port
    return None
