"""What the Endpoints object of a service says: the older form of its EndpointSlices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from kubesched.cluster.controllers import service_pods
from kubesched.cluster.records import PodRecord, WorkloadRecord
from kubesched.objects.base import Json

MOST_ADDRESSES: Final = 1000
MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
MANAGER: Final = "endpoint-controller"
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"


def endpoints_labels(service: WorkloadRecord) -> dict[str, str]:
    labels = {key: value for key, value in service.metadata.labels.items() if key != service_pods.HEADLESS}
    if service_pods.is_headless(service):
        labels[service_pods.HEADLESS] = ""
    return labels | {MANAGED_BY: MANAGER}


def make_subsets(service: WorkloadRecord, pods: Iterable[PodRecord]) -> list[Json]:
    """Ports that the same pods have share a subset (`RepackSubsets`); pods on their way out are in none."""
    by_port: dict[tuple[Any, ...], list[PodRecord]] = {}
    ports: dict[tuple[Any, ...], Json] = {}
    unready = service_pods.publishes_unready(service)
    family = service_pods.families(service)[0]
    for pod in pods:
        if not service_pods.addresses(pod, family) or (pod.metadata.deletion_timestamp is not None and not unready):
            continue
        if not service.spec.get("ports") and service_pods.is_headless(service):
            by_port.setdefault((), []).append(pod)
        for port in service_pods.ports_in(service, pod):
            key = tuple(sorted(port.items()))
            ports[key] = {name: value for name, value in port.items() if value != ""}
            by_port.setdefault(key, []).append(pod)
    shared: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for key in sorted(by_port):
        shared.setdefault(tuple(pod.metadata.uid for pod in by_port[key]), []).append(key)
    return [_subset(service, by_port[keys[0]], [ports[key] for key in keys if key]) for keys in shared.values()]


def truncate(subsets: list[Json]) -> bool:
    """Leave out what is too much, ready addresses last, and say whether there was such (`truncateEndpoints`)."""
    ready = sum(len(subset.get("addresses", ())) for subset in subsets)
    unready = sum(len(subset.get("notReadyAddresses", ())) for subset in subsets)
    if ready + unready <= MOST_ADDRESSES:
        return False
    over = ready > MOST_ADDRESSES
    which, total, most = (
        ("addresses", ready, MOST_ADDRESSES) if over else ("notReadyAddresses", unready, MOST_ADDRESSES - ready)
    )
    room = most
    for subset in subsets:
        share = min(room, math.ceil(len(subset.get(which, ())) / total * most))
        _cut(subset, which, share)
        room -= len(subset.get(which, ()))
        if over:
            _cut(subset, "notReadyAddresses", 0)
    return True


def _cut(subset: Json, which: str, length: int) -> None:
    shorter = subset.pop(which, [])[:length]
    if shorter:
        subset[which] = shorter


def _subset(service: WorkloadRecord, pods: list[PodRecord], ports: list[Json]) -> Json:
    unready = service_pods.publishes_unready(service)
    parts = {
        "addresses": [_address(service, pod) for pod in pods if unready or pod.is_ready],
        "notReadyAddresses": [_address(service, pod) for pod in pods if not unready and not pod.is_ready],
        "ports": ports,
    }
    for which in ("addresses", "notReadyAddresses"):
        parts[which].sort(key=lambda address: (address["ip"], address["targetRef"]["uid"]))
    return {key: value for key, value in parts.items() if value}


def _address(service: WorkloadRecord, pod: PodRecord) -> Json:
    ip = service_pods.addresses(pod, service_pods.families(service)[0])[0]
    address = {"ip": ip, "nodeName": pod.spec.node_name, "targetRef": service_pods.reference(pod)}
    if name := service_pods.hostname(service, pod):
        address["hostname"] = name
    return address
