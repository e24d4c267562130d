"""The tables of what nothing acts on: network, autoscalers, access."""

from __future__ import annotations

from typing import Any, Final

from kubesched.cluster.apiserver.tables.layout import (
    NONE,
    UNKNOWN,
    UNSET,
    TableLayout,
    age_of,
    columns,
    name_of,
    selector_text,
)
from kubesched.objects.base import Json

_MOST_SHOWN: Final = 3
_MOST_METRICS: Final = 2


def _first(items: list[str], most: int, separator: str = ",") -> str:
    more = f" + {len(items) - most} more..." if len(items) > most else ""
    return separator.join(items[:most]) + more


def _endpoints(value: Json, now: float) -> list[Any]:
    places = [
        f"{address.get('ip', '')}:{port['port']}" if port else str(address.get("ip", ""))
        for subset in value.get("subsets") or ()
        for port in subset.get("ports") or (None,)
        for address in subset.get("addresses") or ()
    ]
    return [name_of(value), _first(places, _MOST_SHOWN) if value.get("subsets") else NONE, age_of(value, now)]


def _endpoint_slice(value: Json, now: float) -> list[Any]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in value.get("ports") or ()]
    addresses = [address for endpoint in value.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    kind = value.get("addressType", "")
    return [
        name_of(value),
        kind,
        _first(ports, _MOST_SHOWN) or UNSET,
        _first(addresses, _MOST_SHOWN) or UNSET,
        age_of(value, now),
    ]


def _ingress(value: Json, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    points = ((value.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    addresses = sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""})
    return [
        name_of(value),
        spec.get("ingressClassName", NONE),
        _first(hosts, _MOST_SHOWN) or "*",
        ",".join(addresses),
        "80, 443" if spec.get("tls") else "80",
        age_of(value, now),
    ]


def _ingress_class(value: Json, now: float) -> list[Any]:
    spec, annotations = value.get("spec") or {}, value["metadata"].get("annotations") or {}
    is_default = annotations.get("ingressclass.kubernetes.io/is-default-class") == "true"
    parameters = spec.get("parameters") or {}
    group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
    return [
        name_of(value) + (" (default)" if is_default else ""),
        spec.get("controller", ""),
        f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}" if parameters else NONE,
        age_of(value, now),
    ]


def _network_policy(value: Json, now: float) -> list[Any]:
    return [name_of(value), selector_text((value.get("spec") or {}).get("podSelector")), age_of(value, now)]


def _autoscaler(value: Json, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    target = spec.get("scaleTargetRef") or {}
    metrics = [_metric(metric) for metric in spec.get("metrics") or ()]
    return [
        name_of(value),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _first(metrics, _MOST_METRICS, ", ") or NONE,
        str(spec.get("minReplicas", UNSET)),
        spec.get("maxReplicas", 0),
        (value.get("status") or {}).get("currentReplicas", 0),
        age_of(value, now),
    ]


def _metric(metric: Json) -> str:
    """What is wanted of it; what it is at is unknown, since nothing measures."""
    kind = metric.get("type", "")
    source = metric.get(kind[:1].lower() + kind[1:]) or {}
    target = source.get("target") or {}
    average = target.get("averageValue")
    if kind in ("Resource", "ContainerResource"):
        utilization = f"{target['averageUtilization']}%" if "averageUtilization" in target else "<auto>"
        return f"{source.get('name', '')}: {UNKNOWN}/{average or utilization}"
    if kind == "Pods":
        return f"{UNKNOWN}/{average}"
    return f"{UNKNOWN}/{average} (avg)" if average else f"{UNKNOWN}/{target.get('value', '')}"


def _role_binding(value: Json, now: float) -> list[Any]:
    role, subjects = value.get("roleRef") or {}, value.get("subjects") or ()
    accounts = [f"{one.get('namespace', '')}/{one['name']}" for one in subjects if one.get("kind") == "ServiceAccount"]
    return [
        name_of(value),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age_of(value, now),
        *(", ".join(one["name"] for one in subjects if one.get("kind") == kind) for kind in ("User", "Group")),
        ", ".join(accounts),
    ]


ENDPOINTS: Final = TableLayout(columns("Name", "Endpoints", "Age"), _endpoints)
ENDPOINT_SLICES: Final = TableLayout(columns("Name", "AddressType", "Ports", "Endpoints", "Age"), _endpoint_slice)
INGRESSES: Final = TableLayout(columns("Name", "Class", "Hosts", "Address", "Ports", "Age"), _ingress)
INGRESS_CLASSES: Final = TableLayout(columns("Name", "Controller", "Parameters", "Age"), _ingress_class)
NETWORK_POLICIES: Final = TableLayout(columns("Name", "Pod-Selector", "Age"), _network_policy)
AUTOSCALERS: Final = TableLayout(
    columns("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"), _autoscaler
)
ROLE_BINDINGS: Final = TableLayout(
    columns("Name", "Role", "Age", wide=("Users", "Groups", "ServiceAccounts")), _role_binding
)
