"""Pods and nodes in one readable line each.

Simple things are plain arguments (`cpu="100m"`, `node="n1"`); complicated parts are given as in a manifest (dicts and
lists in Kubernetes' JSON form) or as structs; anything else goes into `spec` and `status`, also in JSON form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from kubesched.objects import Node, Pod, convert, to_builtins
from kubesched.objects.base import KubeStruct

Json: TypeAlias = Mapping[str, Any] | KubeStruct
"""A part of a manifest: a dict in Kubernetes' JSON form, or the struct itself."""

EPOCH: Final = datetime(2024, 1, 1, tzinfo=UTC)
"""When everything that the builders make was created, unless said otherwise."""

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
REGION_LABEL: Final = "topology.kubernetes.io/region"


def make_pod(
    name: str = "p",
    *,
    namespace: str = "default",
    uid: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Json | None = None,
    created: datetime = EPOCH,
    deleting: bool = False,
    cpu: str = "",
    memory: str = "",
    requests: Mapping[str, str | int] | None = None,
    limits: Mapping[str, str | int] | None = None,
    image: str = "",
    host_ports: Iterable[int] = (),
    containers: Sequence[Json] | None = None,
    init_containers: Sequence[Json] = (),
    overhead: Mapping[str, str | int] | None = None,
    node: str = "",
    node_selector: Mapping[str, str] | None = None,
    affinity: Json | None = None,
    tolerations: Iterable[Json | str] = (),
    spread: Sequence[Json] = (),
    volumes: Sequence[Json] = (),
    claims: Iterable[str] = (),
    gates: Iterable[str] = (),
    priority: int = 0,
    preemption_policy: str = "",
    scheduler: str = "default-scheduler",
    group: str = "",
    phase: str = "",
    nominated_node: str = "",
    start_time: datetime | None = None,
    spec: Json | None = None,
    status: Json | None = None,
) -> Pod:
    """A pod with one container that asks for `cpu`, `memory` and `requests`; `containers` replaces that container.

    `tolerations` may be written `key=value:Effect`, `key:Effect` or `key`; `claims` names PersistentVolumeClaims;
    a pod on a node is running, any other is pending. Its UID is `namespace/name` unless given.
    """
    single = _container(image, _requests(cpu, memory, requests), limits or {}, host_ports)
    pod = {
        "metadata": _metadata(name, namespace, uid, labels, annotations, owner, created, deleting),
        "spec": {
            "containers": [single] if containers is None else plain(containers),
            "initContainers": plain(init_containers),
            "overhead": dict(overhead or {}),
            "nodeName": node,
            "nodeSelector": dict(node_selector or {}),
            "affinity": plain(affinity),
            "tolerations": [_toleration(toleration) for toleration in tolerations],
            "topologySpreadConstraints": plain(spread),
            "volumes": [*plain(volumes), *_claim_volumes(claims)],
            "schedulingGates": [{"name": gate} for gate in gates],
            "priority": priority,
            "preemptionPolicy": preemption_policy,
            "schedulerName": scheduler,
            "schedulingGroup": {"podGroupName": group} if group else None,
            **(plain(spec) or {}),
        },
        "status": {
            "phase": phase or ("Running" if node else "Pending"),
            "nominatedNodeName": nominated_node,
            "startTime": _time(start_time),
            **(plain(status) or {}),
        },
    }
    return convert(pod, Pod)


def make_node(
    name: str = "n",
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    resources: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    zone: str = "",
    region: str = "",
    taints: Iterable[Json | str] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    features: Sequence[str] = (),
    created: datetime = EPOCH,
    spec: Json | None = None,
    status: Json | None = None,
) -> Node:
    """A ready node that can give `cpu`, `memory`, `pods` and `resources`, with its hostname label.

    `taints` may be written `key=value:Effect` or `key:Effect`; `images` maps names to sizes in bytes.
    """
    topology = {HOSTNAME_LABEL: name, ZONE_LABEL: zone, REGION_LABEL: region}
    topology = {key: value for key, value in topology.items() if value}
    allocatable = {"cpu": cpu, "memory": memory, "pods": str(pods), **(resources or {})}
    node = {
        "metadata": _metadata(name, "", name, {**topology, **(labels or {})}, annotations, None, created, False),
        "spec": {
            "unschedulable": unschedulable,
            "taints": [_taint(taint) for taint in taints],
            **(plain(spec) or {}),
        },
        "status": {
            "capacity": allocatable,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
            "declaredFeatures": list(features),
            **(plain(status) or {}),
        },
    }
    return convert(node, Node)


def plain(part: Any) -> Any:
    """`part` in JSON form, with the structs inside it taken apart."""
    if isinstance(part, KubeStruct):
        return to_builtins(part)
    if isinstance(part, Mapping):
        return {key: plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [plain(value) for value in part]
    return part


def _metadata(
    name: str,
    namespace: str,
    uid: str,
    labels: Mapping[str, str] | None,
    annotations: Mapping[str, str] | None,
    owner: Json | None,
    created: datetime,
    deleting: bool,
) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"{namespace}/{name}",
        "labels": dict(labels or {}),
        "annotations": dict(annotations or {}),
        "ownerReferences": [{"controller": True, **plain(owner)}] if owner else [],
        "creationTimestamp": _time(created),
        "deletionTimestamp": _time(created) if deleting else None,
    }


def _requests(cpu: str, memory: str, others: Mapping[str, str | int] | None) -> dict[str, str | int]:
    named = {"cpu": cpu, "memory": memory}
    return {**{name: amount for name, amount in named.items() if amount}, **(others or {})}


def _container(
    image: str, requests: Mapping[str, str | int], limits: Mapping[str, str | int], host_ports: Iterable[int]
) -> dict[str, Any]:
    return {
        "name": "c",
        "image": image,
        "resources": {"requests": dict(requests), "limits": dict(limits)},
        "ports": [{"containerPort": port, "hostPort": port, "protocol": "TCP"} for port in host_ports],
    }


def _claim_volumes(claims: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]


def _toleration(source: Json | str) -> Any:
    if not isinstance(source, str):
        return plain(source)
    key, equals, rest = source.partition("=")
    if equals:
        value, _, effect = rest.partition(":")
        return {"key": key, "operator": "Equal", "value": value, "effect": effect}
    key, _, effect = source.partition(":")
    return {"key": key, "operator": "Exists", "effect": effect}


def _taint(source: Json | str) -> Any:
    if not isinstance(source, str):
        return plain(source)
    name, _, effect = source.rpartition(":")
    key, _, value = name.partition("=")
    return {"key": key, "value": value, "effect": effect}


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
