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
from kubesched.cluster.views import EndpointSliceView, PodView, WorkloadView
from kubesched.objects.base import Json

PortsKey = tuple[tuple[tuple[str, Any], ...], ...]
EndpointKey = tuple[Any, ...]

MOST_ENDPOINTS: Final = 100
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER: Final = "endpointslice-controller.k8s.io"
_RESERVED: Final = (SERVICE_NAME, MANAGED_BY, service_pods.HEADLESS)


@dataclass(kw_only=True, slots=True)
class Draft:
    """What becomes of one slice; one without a name is new."""

    name: str = ""
    ports: list[Json]
    endpoints: list[Json]
    changed: bool = True


class Plan(NamedTuple):
    written: list[Draft]
    deleted: list[str]


def slice_labels(service: WorkloadView) -> dict[str, str]:
    """Those of the service, and our own."""
    labels = {key: value for key, value in service.metadata.labels.items() if key not in _RESERVED}
    if service_pods.is_headless(service):
        labels[service_pods.HEADLESS] = ""
    return labels | {SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}


def endpoint_of(service: WorkloadView, pod: PodView, family: str, zone: str) -> Json:
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
    wanted: Iterable[tuple[list[Json], Json]], existing: Sequence[EndpointSliceView], labels: dict[str, str]
) -> Plan:
    """Bring `existing`, the slices of one service and one address family, to the wanted pairs of ports and endpoint."""
    groups: dict[PortsKey, tuple[list[Json], dict[EndpointKey, Json]]] = {}
    for ports, endpoint in wanted:
        groups.setdefault(_ports_key(ports), (ports, {}))[1][_endpoint_key(endpoint)] = endpoint
    drafts: dict[PortsKey, list[Draft]] = {}
    for item in existing:
        draft = _draft(item, labels)
        drafts.setdefault(_ports_key(draft.ports), []).append(draft)
    kept: list[Draft] = []
    free = [draft for key, group in drafts.items() if key not in groups for draft in group]
    for key, (ports, endpoints) in groups.items():
        filled = _fill(drafts.get(key, []), ports, endpoints)
        kept += [draft for draft in filled if draft.endpoints]
        free += [draft for draft in filled if not draft.endpoints]
    if not kept:
        kept.append(_placeholder(free))
        free = [draft for draft in free if draft is not kept[0]]
    for draft in kept:
        if not draft.name and free:  # a change of a slice instead of a new one and a deletion (`finalize`)
            draft.name = free.pop(0).name
    return Plan([draft for draft in kept if draft.changed], [draft.name for draft in free])


def _draft(item: EndpointSliceView, labels: dict[str, str]) -> Draft:
    return Draft(
        name=item.metadata.name,
        ports=list(item.ports or ()),
        endpoints=list(item.endpoints or ()),
        changed=dict(item.metadata.labels) != labels,
    )


def _placeholder(free: list[Draft]) -> Draft:
    """The one that there is, if it says nothing already."""
    for draft in free:
        if not draft.ports and not draft.endpoints and not draft.changed:
            return draft
    return Draft(ports=[], endpoints=[])


def _fill(drafts: list[Draft], ports: list[Json], endpoints: dict[EndpointKey, Json]) -> list[Draft]:
    """Put the endpoints into slices with these ports; slices that nobody needs are empty in the end."""
    left = dict(endpoints)
    for draft in drafts:
        keys = [_endpoint_key(endpoint) for endpoint in draft.endpoints]
        remaining = [left.pop(key) for key in keys if key in left]
        draft.changed |= remaining != draft.endpoints
        draft.endpoints = remaining
    homeless = list(left.values())
    changing = [draft for draft in drafts if draft.changed and draft.endpoints]
    for draft in sorted(changing, key=lambda draft: -len(draft.endpoints)):
        _take(draft, homeless)
    created = []
    while homeless:
        roomy = [
            draft for draft in drafts if not draft.changed and len(draft.endpoints) + len(homeless) <= MOST_ENDPOINTS
        ]
        target = max(roomy, key=lambda draft: len(draft.endpoints), default=None)
        if target is None:
            target = Draft(ports=ports, endpoints=[])
            created.append(target)
        target.changed = True
        _take(target, homeless)
    return [*drafts, *created]


def _take(draft: Draft, homeless: list[Json]) -> None:
    room = MOST_ENDPOINTS - len(draft.endpoints)
    draft.endpoints += homeless[:room]
    del homeless[:room]


def _ports_key(ports: Iterable[Json]) -> PortsKey:
    return tuple(sorted(tuple(sorted(port.items())) for port in ports))


def _endpoint_key(endpoint: Json) -> EndpointKey:
    """What tells endpoints apart: all else of them may change in place (`hashEndpoint`)."""
    target = endpoint.get("targetRef") or {}
    addresses = tuple(sorted(endpoint.get("addresses") or ()))
    return addresses, endpoint.get("hostname", ""), target.get("namespace", ""), target.get("name", "")
