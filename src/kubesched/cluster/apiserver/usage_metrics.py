"""The metrics API (`metrics.k8s.io`), as metrics-server offers it: what `kubectl top` and load-aware plugins read.

Nothing is measured and nothing is stored: usage follows from the pods that run and from annotations
(`kubesched.cluster.usage`), whenever somebody asks. As with metrics-server, pods that do not run and nodes that are not
ready have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from kubesched.cluster.apiserver.resource import Derivation, Stored
from kubesched.cluster.apiserver.storage import Entry
from kubesched.cluster.records import ConditionRecord
from kubesched.cluster.usage import AS_REQUESTED, RESOURCES, Curve, Level, amount_of, curves_of
from kubesched.objects.base import Json, KubeStruct
from kubesched.objects.codec import decode
from kubesched.objects.quantity import Quantity

WINDOW: Final = "15s"
_Usage = dict[str, float]


class _Metadata(KubeStruct):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class _Resources(KubeStruct):
    requests: dict[str, Quantity] = msgspec.field(default_factory=dict)
    limits: dict[str, Quantity] = msgspec.field(default_factory=dict)


class _Container(KubeStruct):
    name: str = ""
    restart_policy: str = ""
    resources: _Resources = _Resources()


class _PodSpec(KubeStruct):
    node_name: str = ""
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()


class _PodStatus(KubeStruct):
    phase: str = ""


class _Pod(KubeStruct):
    metadata: _Metadata = _Metadata()
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


class _NodeStatus(KubeStruct):
    allocatable: dict[str, Quantity] = msgspec.field(default_factory=dict)
    conditions: tuple[ConditionRecord, ...] = ()


class _Node(KubeStruct):
    metadata: _Metadata = _Metadata()
    status: _NodeStatus = _NodeStatus()


def pod_metrics(stored: Stored, namespace: str, name: str, now: float) -> Iterator[Json]:
    """Of the pod of that name, or of all pods of the namespace, or of all."""
    ready = {node.metadata.name for node in _ready_nodes(stored("nodes").in_order())}
    found = stored("pods").get(namespace, name)
    entries = stored("pods").in_order(namespace) if not name else [found] if found is not None else []
    for pod in _running_pods(entries):
        if pod.spec.node_name in ready:
            containers = [
                {"name": container, "usage": _written(usage)} for container, usage in _container_usages(pod, now)
            ]
            yield {**_head(pod.metadata, now), "containers": containers}


def node_metrics(stored: Stored, namespace: str, name: str, now: float) -> Iterator[Json]:
    """Of the node of that name, or of all nodes."""
    found = stored("nodes").get(namespace, name)
    entries = stored("nodes").in_order() if not name else [found] if found is not None else []
    nodes = {node.metadata.name: node for node in _ready_nodes(entries)}
    usages = {node.metadata.name: _own_usage(node, now) for node in nodes.values()}
    for pod in _running_pods(stored("pods").in_order()):
        if total := usages.get(pod.spec.node_name):
            for _, usage in _container_usages(pod, now):
                for resource in RESOURCES:
                    total[resource] += usage[resource]
    for node_name, node in nodes.items():
        yield {**_head(node.metadata, now), "usage": _written(usages[node_name])}


def _ready_nodes(entries: Iterable[Entry]) -> Iterator[_Node]:
    for entry in entries:
        node = decode(entry.raw, _Node)
        if any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions):
            yield node


def _running_pods(entries: Iterable[Entry]) -> Iterator[_Pod]:
    for entry in entries:
        if entry.fields["status.phase"] == "Running":
            yield decode(entry.raw, _Pod)


def _container_usages(pod: _Pod, now: float) -> Iterator[tuple[str, _Usage]]:
    """By container, sidecars included. An amount of the whole pod is shared equally."""
    sidecars = [container for container in pod.spec.init_containers if container.restart_policy == "Always"]
    containers = [*pod.spec.containers, *sidecars]
    levels = _levels(curves_of(pod.metadata.annotations), now, default=AS_REQUESTED)
    for container in containers:
        requested = {**container.resources.limits, **container.resources.requests}
        yield (
            container.name,
            {
                resource: level.amount / len(containers) + level.share * _amount(requested, resource)
                for resource, level in levels.items()
            },
        )


def _own_usage(node: _Node, now: float) -> _Usage:
    """What the node uses besides its pods."""
    levels = _levels(curves_of(node.metadata.annotations), now, default=_NOTHING)
    offered = node.status.allocatable
    return {name: level.amount + level.share * _amount(offered, name) for name, level in levels.items()}


_NOTHING: Final = Curve(Level(), Level())


def _levels(curves: Mapping[str, Curve], now: float, *, default: Curve) -> dict[str, Level]:
    return {resource: curves.get(resource, default).at(now) for resource in RESOURCES}


def _amount(quantities: Mapping[str, Quantity], resource: str) -> float:
    found = quantities.get(resource)
    return amount_of(found) if found is not None else 0.0


def _head(metadata: _Metadata, now: float) -> Json:
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    named = {"name": metadata.name} | ({"namespace": metadata.namespace} if metadata.namespace else {})
    labels = {"labels": metadata.labels} if metadata.labels else {}
    return {"metadata": {**named, "creationTimestamp": moment, **labels}, "timestamp": moment, "window": WINDOW}


def _written(usage: _Usage) -> Json:
    """In the units of metrics-server."""
    return {"cpu": f"{round(usage['cpu'] * 1e9)}n", "memory": f"{int(usage['memory']) // 1024}Ki"}


POD_METRICS: Final = Derivation(pod_metrics)
NODE_METRICS: Final = Derivation(node_metrics)
