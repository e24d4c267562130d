"""The tables of nodes, namespaces, services, events, configuration and scheduling objects."""

from __future__ import annotations

from typing import Any, Final

from kubesched.cluster.apiserver.tables.layout import (
    NONE,
    UNKNOWN,
    Column,
    TableLayout,
    age_of,
    columns,
    condition_status,
    labels_text,
    name_of,
    since,
)
from kubesched.objects.base import Json

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"


def _node(value: Json, now: float) -> list[Any]:
    status = value.get("status") or {}
    info = status.get("nodeInfo") or {}
    ready = condition_status(value, "Ready")
    state = "Unknown" if not ready else "Ready" if ready == "True" else "NotReady"
    if (value.get("spec") or {}).get("unschedulable"):
        state += ",SchedulingDisabled"
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        name_of(value),
        state,
        _roles(value["metadata"].get("labels") or {}),
        age_of(value, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _roles(labels: dict[str, str]) -> str:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    if old := labels.get("kubernetes.io/role"):
        roles.add(old)
    return ",".join(sorted(filter(None, roles))) or NONE


def _address(status: Json, kind: str) -> str:
    found = (item.get("address", NONE) for item in status.get("addresses") or () if item.get("type") == kind)
    return next(found, NONE)


def _namespace(value: Json, now: float) -> list[Any]:
    return [name_of(value), (value.get("status") or {}).get("phase", ""), age_of(value, now)]


def _service(value: Json, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    ports = ",".join(_port(port) for port in spec.get("ports") or ())
    addresses = spec.get("clusterIPs") or [NONE]
    return [
        name_of(value),
        spec.get("type", ""),
        addresses[0],
        _external(spec, value.get("status") or {}),
        ports or NONE,
        age_of(value, now),
        labels_text(spec.get("selector")),
    ]


def _port(port: Json) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', 'TCP')}"


def _external(spec: Json, status: Json) -> str:
    fixed = ",".join(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "LoadBalancer":
            points = (status.get("loadBalancer") or {}).get("ingress") or ()
            found = ",".join(point.get("ip") or point.get("hostname", "") for point in points)
            return ",".join(filter(None, (found, fixed))) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case _:
            return fixed or NONE


def _event(value: Json, now: float) -> list[Any]:
    """Works on the core form; the events.k8s.io view shows the same table."""
    source, involved = value.get("source") or {}, value.get("involvedObject") or {}
    first = since(value.get("firstTimestamp") or value.get("eventTime"), now)
    last = since(value["lastTimestamp"], now) if value.get("lastTimestamp") else first
    count = value.get("count") or 1
    if series := value.get("series"):
        last, count = since(series.get("lastObservedTime"), now), series.get("count", 1)
    target = involved.get("kind", "").lower() + (f"/{involved['name']}" if involved.get("name") else "")
    component = source.get("component") or value.get("reportingComponent", "")
    instance = source.get("host") or value.get("reportingInstance", "")
    return [
        last,
        value.get("type", ""),
        value.get("reason", ""),
        target,
        involved.get("fieldPath", ""),
        ", ".join(filter(None, (component, instance))),
        value.get("message", "").strip(),
        first,
        count,
        name_of(value),
    ]


def _secret(value: Json, now: float) -> list[Any]:
    return [name_of(value), value.get("type", ""), len(value.get("data") or ()), age_of(value, now)]


def _config_map(value: Json, now: float) -> list[Any]:
    return [name_of(value), len(value.get("data") or ()) + len(value.get("binaryData") or ()), age_of(value, now)]


def _lease(value: Json, now: float) -> list[Any]:
    return [name_of(value), (value.get("spec") or {}).get("holderIdentity", ""), age_of(value, now)]


def _priority_class(value: Json, now: float) -> list[Any]:
    return [
        name_of(value),
        value.get("value", 0),
        value.get("globalDefault", False),
        age_of(value, now),
        value.get("preemptionPolicy", ""),
    ]


def _runtime_class(value: Json, now: float) -> list[Any]:
    return [name_of(value), value.get("handler", ""), age_of(value, now)]


def _quota(value: Json, now: float) -> list[Any]:
    status = value.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    shown = {name: f"{name}: {used.get(name, 0)}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in shown.items() if name.startswith("limits.")]
    requests = [text for name, text in shown.items() if not name.startswith("limits.")]
    return [name_of(value), ", ".join(requests), ", ".join(limits), age_of(value, now)]


def _resource_claim(value: Json, now: float) -> list[Any]:
    status = value.get("status") or {}
    states = [
        "deleted" if value["metadata"].get("deletionTimestamp") else "",
        "allocated" if "allocation" in status else "" if value["metadata"].get("deletionTimestamp") else "pending",
        "reserved" if status.get("reservedFor") else "",
    ]
    return [name_of(value), ",".join(filter(None, states)), age_of(value, now)]


def _resource_slice(value: Json, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    pool = (spec.get("pool") or {}).get("name", "")
    return [name_of(value), spec.get("nodeName", ""), spec.get("driver", ""), pool, age_of(value, now)]


def _device_taint_rule(value: Json, now: float) -> list[Any]:
    taint = value["spec"]["taint"]
    added = since(taint["timeAdded"], now) if "timeAdded" in taint else ""
    return [name_of(value), taint["key"], taint.get("value", ""), taint["effect"], added, age_of(value, now)]


NODES: Final = TableLayout(
    columns(
        "Name",
        "Status",
        "Roles",
        "Age",
        "Version",
        wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
    ),
    _node,
)
NAMESPACES: Final = TableLayout(columns("Name", "Status", "Age"), _namespace)
SERVICES: Final = TableLayout(
    columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide=("Selector",)), _service
)
EVENTS: Final = TableLayout(
    (
        Column("Last Seen"),
        Column("Type"),
        Column("Reason"),
        Column("Object"),
        Column("Subobject", priority=1),
        Column("Source", priority=1),
        Column("Message"),
        Column("First Seen", priority=1),
        Column("Count", priority=1),
        Column("Name", priority=1, format="name"),
    ),
    _event,
)
SECRETS: Final = TableLayout(columns("Name", "Type", "Data", "Age"), _secret)
CONFIG_MAPS: Final = TableLayout(columns("Name", "Data", "Age"), _config_map)
LEASES: Final = TableLayout(columns("Name", "Holder", "Age"), _lease)
PRIORITY_CLASSES: Final = TableLayout(
    columns("Name", "Value", "Global-Default", "Age", "PreemptionPolicy", Value="integer", Global_Default="boolean"),
    _priority_class,
)
QUOTAS: Final = TableLayout(columns("Name", "Request", "Limit", "Age"), _quota)
RESOURCE_CLAIMS: Final = TableLayout(columns("Name", "State", "Age"), _resource_claim)
RESOURCE_SLICES: Final = TableLayout(columns("Name", "Node", "Driver", "Pool", "Age"), _resource_slice)
DEVICE_TAINT_RULES: Final = TableLayout(
    columns("Name", "Key", "Value", "Effect", "TimeAdded", "Age"), _device_taint_rule
)
RUNTIME_CLASSES: Final = TableLayout(columns("Name", "Handler", "Age"), _runtime_class)
