"""From a specification to a trace: nodes at the start, and pods that arrive over time, each with how long it runs.

Nothing is decided here: pods have no node. How long a pod runs is its annotation `kubesched.io/run-seconds`, which
replays follow, and the kubelets of the embedded cluster, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from random import Random
from typing import Any

import msgspec

from kubesched.errors import ConfigurationError, InvalidObjectError
from kubesched.objects import Node, Pod, convert
from kubesched.objects.pod import RUN_SECONDS
from kubesched.traces.entries import Change, ChangeType, Header
from kubesched.traces.generate.arrivals import arrival_times
from kubesched.traces.generate.chance import draw, number, quantity, seconds
from kubesched.traces.generate.spec import NodeShape, Size, TraceSpec, WorkloadSpec, problems_of
from kubesched.traces.trace import Trace


def generate(spec: TraceSpec, *, seed: int | None = None, name: str = "") -> Trace:
    """The trace of a specification; the same for the same seed, which is the specification's unless one is given.

    Each workload has its own chance: another one added to the specification leaves it as it is. ConfigurationError.
    """
    for field, problem in problems_of(spec):
        raise ConfigurationError([f"{name or 'the specification'}: {field}: {problem}"])
    chosen = spec.seed if seed is None else seed
    started = msgspec.convert(spec.started, datetime)
    begins = (started if started.tzinfo else started.replace(tzinfo=UTC)).timestamp()
    try:
        nodes = [node for shape in spec.nodes for node in _nodes(shape, begins)]
        pods = sorted(
            (pod for workload in spec.workloads for pod in _pods(workload, spec, chosen, begins)),
            key=lambda timed: timed[0],
        )
    except InvalidObjectError as error:
        raise ConfigurationError([f"{name or 'the specification'}: {error}"]) from error
    entries = [Change(time=begins, type=ChangeType.ADDED, object=node) for node in nodes]
    entries += [Change(time=time, type=ChangeType.ADDED, object=pod) for time, pod in pods]
    facts = {"specification": name, "seed": chosen, "nodes": len(nodes), "pods": len(pods)}
    header = Header(started=begins, source="generate", cluster=facts, annotations=(RUN_SECONDS,))
    trace = Trace(header, lambda: iter(entries), name=name)
    trace.end_at(begins + seconds(spec.length))
    return trace


def _nodes(shape: NodeShape, begins: float) -> Iterator[Node]:
    capacity = {"pods": "110", **{name: str(amount) for name, amount in shape.capacity.items()}}
    for index in range(shape.count):
        name = f"{shape.name}-{index}"
        labels = {"kubernetes.io/hostname": name, **shape.labels}
        if shape.zones:
            labels["topology.kubernetes.io/zone"] = shape.zones[index % len(shape.zones)]
        manifest = {
            "metadata": {"name": name, "uid": name, "labels": labels, "creationTimestamp": _moment(begins)},
            "spec": {"taints": shape.taints},
            "status": {
                "capacity": capacity,
                "allocatable": capacity,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        yield convert(manifest, Node)


def _pods(workload: WorkloadSpec, spec: TraceSpec, seed: int, begins: float) -> Iterator[tuple[float, Pod]]:
    random = Random(f"{seed}/{workload.name}")  # noqa: S311 - chance that can be repeated is the point
    for index, arrives in enumerate(arrival_times(workload.arrivals, seconds(spec.length), random)):
        group = f"{workload.name}-{index}"
        requests = _requests(workload, random)
        replicas = max(1, round(draw(workload.replicas, number, random)))
        for replica in range(replicas):
            name = group if workload.replicas == 1 else f"{group}-{replica}"
            lifetime = None if workload.lifetime is None else draw(workload.lifetime, seconds, random)
            manifest = _manifest(workload, name, group, requests, lifetime, begins + arrives)
            yield begins + arrives, convert(manifest, Pod)


def _manifest(
    workload: WorkloadSpec, name: str, group: str, requests: dict[str, str], lifetime: float | None, created: float
) -> dict[str, Any]:
    owner = {"kind": workload.controller, "name": group, "uid": f"{workload.controller}/{group}", "controller": True}
    return {
        "metadata": {
            "name": name,
            "namespace": workload.namespace,
            "uid": f"{workload.namespace}/{name}",
            "labels": {"app": workload.name, **workload.labels},
            "annotations": {} if lifetime is None else {RUN_SECONDS: f"{max(lifetime, 0.001):.3f}"},
            "ownerReferences": [owner] if workload.controller else [],
            "creationTimestamp": _moment(created),
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "priority": workload.priority,
            "containers": [{"name": "main", "image": workload.name, "resources": {"requests": requests}}],
            **workload.spec,
        },
        "status": {"phase": "Pending"},
    }


def _requests(workload: WorkloadSpec, random: Random) -> dict[str, str]:
    size = _one_of(workload.sizes, random)
    if size is None:
        return {}
    return {name: _written(name, draw(amount, quantity, random)) for name, amount in size.requests.items()}


def _one_of(sizes: list[Size], random: Random) -> Size | None:
    if not sizes:
        return None
    weights = list(accumulate(size.weight for size in sizes))
    chance = random.random() * weights[-1]
    return next(size for size, weight in zip(sizes, weights, strict=True) if weight > chance)


def _written(resource: str, amount: float) -> str:
    """Thousandths of CPUs, and whole pieces of everything else; never 0 of what was asked for."""
    least = 1 if amount else 0
    if resource == "cpu":
        return f"{max(least, round(amount * 1000))}m"
    return str(max(least, round(amount)))


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat()
