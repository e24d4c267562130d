"""How the endpoints of a service are divided into EndpointSlices.

    endpoints with the same ports share slices, of at most 100 each
    what is in a slice stays there; slices that change anyway are filled first, then one that has room for all others
    a service without any endpoint keeps one empty slice

As few slices as possible are written, since everybody who watches them gets every write (`reconcileByAddressType`,
`reconcileByPortMapping`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kubesched.cluster.controllers import service_pods
from kubesched.cluster.records import EndpointSliceRecord, PodRecord, WorkloadRecord
from kubesched.objects.base import Json

PortsKey = tuple[tuple[tuple[str, Any], ...], ...]
EndpointKey = tuple[Any, ...]

MOST_ENDPOINTS: Final = 100
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER: Final = "endpointslice-controller.k8s.io"
_RESERVED: Final = (SERVICE_NAME, MANAGED_BY, service_pods.HEADLESS)


@dataclass(kw_only=True, slots=True)
class DesiredSlice:
    """An EndpointSlice as it should be; one without a name is new."""

    name: str = ""
    ports: list[Json]
    endpoints: list[Json]
    changed: bool = True


class Plan(NamedTuple):
    written: list[DesiredSlice]
    deleted: list[str]


def slice_labels(service: WorkloadRecord) -> dict[str, str]:
    """Those of the service, and our own."""
    labels = {key: value for key, value in service.metadata.labels.items() if key not in _RESERVED}
    if service_pods.is_headless(service):
        labels[service_pods.HEADLESS] = ""
    return labels | {SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}


def endpoint_of(service: WorkloadRecord, pod: PodRecord, family: str, zone: str) -> Json:
    """A pod as an endpoint (`podToEndpoint`)."""
    terminating = pod.metadata.deletion_timestamp is not None
    ready = service_pods.publishes_unready(service) or (pod.is_ready and not terminating)
    endpoint: Json = {
        "addresses": service_pods.addresses(pod, family),
        "conditions": {"ready": ready, "serving": pod.is_ready, "terminating": terminating},
        "targetRef": service_pods.reference(pod),
    }
    optional = {
        "nodeName": pod.spec.node_name,
        "zone": zone,
        "hostname": service_pods.hostname(service, pod),
    }
    return endpoint | {key: value for key, value in optional.items() if value}


def plan_slices(
    wanted: Iterable[tuple[list[Json], Json]], existing: Sequence[EndpointSliceRecord], labels: dict[str, str]
) -> Plan:
    """Bring `existing`, the slices of one service and one address family, to the wanted pairs of ports and endpoint."""
    groups: dict[PortsKey, tuple[list[Json], dict[EndpointKey, Json]]] = {}
    for ports, endpoint in wanted:
        groups.setdefault(_ports_key(ports), (ports, {}))[1][_endpoint_key(endpoint)] = endpoint
    slices: dict[PortsKey, list[DesiredSlice]] = {}
    for stored in existing:
        item = _desired_slice(stored, labels)
        slices.setdefault(_ports_key(item.ports), []).append(item)
    kept: list[DesiredSlice] = []
    free = [item for key, group in slices.items() if key not in groups for item in group]
    for key, (ports, endpoints) in groups.items():
        filled = _fill(slices.get(key, []), ports, endpoints)
        kept += [item for item in filled if item.endpoints]
        free += [item for item in filled if not item.endpoints]
    if not kept:
        kept.append(_placeholder(free))
        free = [item for item in free if item is not kept[0]]
    for item in kept:
        if not item.name and free:  # a change of a slice instead of a new one and a deletion (`finalize`)
            item.name = free.pop(0).name
    return Plan([item for item in kept if item.changed], [item.name for item in free])


def _desired_slice(item: EndpointSliceRecord, labels: dict[str, str]) -> DesiredSlice:
    return DesiredSlice(
        name=item.metadata.name,
        ports=list(item.ports or ()),
        endpoints=list(item.endpoints or ()),
        changed=dict(item.metadata.labels) != labels,
    )


def _placeholder(free: list[DesiredSlice]) -> DesiredSlice:
    """The one that there is, if it says nothing already."""
    for item in free:
        if not item.ports and not item.endpoints and not item.changed:
            return item
    return DesiredSlice(ports=[], endpoints=[])


def _fill(slices: list[DesiredSlice], ports: list[Json], endpoints: dict[EndpointKey, Json]) -> list[DesiredSlice]:
    """Put the endpoints into slices with these ports; slices that nobody needs are empty in the end."""
    left = dict(endpoints)
    for item in slices:
        keys = [_endpoint_key(endpoint) for endpoint in item.endpoints]
        remaining = [left.pop(key) for key in keys if key in left]
        item.changed |= remaining != item.endpoints
        item.endpoints = remaining
    unplaced = list(left.values())
    changing = [item for item in slices if item.changed and item.endpoints]
    for item in sorted(changing, key=lambda item: -len(item.endpoints)):
        _move_into(item, unplaced)
    created = []
    while unplaced:
        roomy = [item for item in slices if not item.changed and len(item.endpoints) + len(unplaced) <= MOST_ENDPOINTS]
        target = max(roomy, key=lambda item: len(item.endpoints), default=None)
        if target is None:
            target = DesiredSlice(ports=ports, endpoints=[])
            created.append(target)
        target.changed = True
        _move_into(target, unplaced)
    return [*slices, *created]


def _move_into(item: DesiredSlice, unplaced: list[Json]) -> None:
    room = MOST_ENDPOINTS - len(item.endpoints)
    item.endpoints += unplaced[:room]
    del unplaced[:room]


def _ports_key(ports: Iterable[Json]) -> PortsKey:
    return tuple(sorted(tuple(sorted(port.items())) for port in ports))


def _endpoint_key(endpoint: Json) -> EndpointKey:
    """What tells endpoints apart: all else of them may change in place (`hashEndpoint`)."""
    target = endpoint.get("targetRef") or {}
    addresses = tuple(sorted(endpoint.get("addresses") or ()))
    return addresses, endpoint.get("hostname", ""), target.get("namespace", ""), target.get("name", "")
