"""One function per opcode of the workload format."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import count
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from kubesched.assembly.bench.collecting import Collector
from kubesched.assembly.bench.devices import claims_for, device_slice
from kubesched.assembly.bench.target import Target
from kubesched.assembly.bench.templates import template
from kubesched.assembly.bench.volumes import bound_claim, csi_node, with_claim
from kubesched.assembly.bench.workload import Operation
from kubesched.clock import Clock
from kubesched.errors import ConfigurationError
from kubesched.objects import Namespace, Node, Pod, Quantity, convert, decode_object


@dataclass
class Run:
    """A workload under way."""

    target: Target
    clock: Clock
    collector: Collector
    default_pod_template: Path | None
    numbers: Iterator[int] = field(default_factory=count)
    awaited: list[Pod] = field(default_factory=list)
    """Pods that were created and not waited for."""
    background: list[asyncio.Task[None]] = field(default_factory=list)
    position: int = 0
    report: Callable[[str, int, int], None] = lambda what, done, total: None

    def name(self, metadata: Any, prefix: str) -> Any:
        """A name of its own, as generateName gives it."""
        if metadata.name:
            return metadata
        return replace(metadata, name=f"{metadata.generate_name or prefix}{next(self.numbers)}")


async def create_nodes(run: Run, op: Operation) -> None:
    path, total = op.path("nodeTemplatePath"), op.count()
    labels = op.options.get("labelNodePrepareStrategy") or op.options.get("uniqueNodeLabelStrategy") or {}
    strategy = op.options.get("nodeAllocatableStrategy") or {}
    nodes: list[Any] = []
    for index in range(total):
        node = convert(template(path).render(index, total), Node) if path else DEFAULT_NODE
        metadata = run.name(node.metadata, "scheduler-perf-")
        if labels:
            value = _label_value(labels, index, metadata.name)
            metadata = replace(metadata, labels={**metadata.labels, labels["labelKey"]: value})
        extra = {name: Quantity.parse(amount) for name, amount in (strategy.get("nodeAllocatable") or {}).items()}
        allocatable = {**(node.status.allocatable or node.status.capacity), **extra}
        nodes.append(replace(node, metadata=metadata, status=replace(node.status, allocatable=allocatable)))
        if strategy.get("csiNodeAllocatable"):
            nodes.append(csi_node(metadata.name, strategy))
    await run.target.add(nodes)


async def create_namespaces(run: Run, op: Operation) -> None:
    path, total = op.path("namespaceTemplatePath"), op.count()
    for index in range(total):
        namespace = convert(template(path).render(index, total), Namespace) if path else Namespace()
        metadata = replace(namespace.metadata, name=f"{op.options['prefix']}-{index}")
        await run.target.add([replace(namespace, metadata=metadata)])


async def create_pods(run: Run, op: Operation) -> None:
    namespace = str(op.options.get("namespace") or f"namespace-{run.position}")
    objects = _pods(run, op, namespace)
    pods = [obj for obj in objects if isinstance(obj, Pod)]
    others = [obj for obj in objects if not isinstance(obj, Pod)]
    await run.target.add(others)
    measured = bool(op.options.get("collectMetrics"))
    if measured:
        run.collector.start(namespace)
    if op.options.get("steadyState"):
        await _steady_state(run, op, pods)
    else:
        await run.target.add(pods)
        if op.options.get("skipWaitToCompletion"):
            run.awaited += pods
            return
        await run.target.until_scheduled([pod.key for pod in pods])
    if measured:
        run.collector.stop()


async def create_pod_sets(run: Run, op: Operation) -> None:
    inner = op.options["createPodsOp"]
    for index in range(op.count()):
        options = {**inner, "namespace": f"{op.options['namespacePrefix']}-{index}"}
        await create_pods(run, op.nested(options))


async def delete_pods(run: Run, op: Operation) -> None:
    pods = [pod for pod in run.target.listed(Pod) if _selected(pod, op)]
    rate = op.options.get("deletePodsPerSecond")

    async def delete_all() -> None:
        for pod in pods:
            await run.target.remove(pod)
            if rate:
                await run.clock.sleep(1 / float(rate))

    await _maybe_in_background(run, op, delete_all())


async def create_any(run: Run, op: Operation) -> None:
    path, total = op.path("templatePath"), op.count() or 1
    for index in range(total):
        obj = _any(template(_required(path, op)).render(index, total), str(op.options.get("namespace") or ""))
        await run.target.add([replace(obj, metadata=run.name(obj.metadata, "any-"))])


async def update_any(run: Run, op: Operation) -> None:
    path, total = op.path("templatePath"), op.count() or 1
    rate = op.options.get("updatePerSecond")

    async def update_all() -> None:
        for index in range(total):
            new = _any(template(_required(path, op)).render(index, total), str(op.options.get("namespace") or ""))
            old = next((o for o in run.target.listed(type(new)) if o.metadata.key == new.metadata.key), None)
            if old is None:
                raise ConfigurationError([f"updateAny: there is no {type(new).__name__} {new.metadata.key}"])
            await run.target.update(old, replace(new, metadata=replace(new.metadata, uid=old.metadata.uid)))
            if rate:
                await run.clock.sleep(1 / float(rate))

    await _maybe_in_background(run, op, update_all())


async def churn(run: Run, op: Operation) -> None:
    """Objects that come (and go) beside the measured ones, until the workload ends."""
    paths = [(op.folder / path).resolve() for path in op.options["templatePaths"]]
    seconds = float(op.options.get("intervalMilliseconds", 500)) / 1000
    recreates, number = op.options.get("mode") == "recreate", int(op.options.get("number") or 0)
    namespace = f"namespace-{run.position}"

    async def create_one(path: Path, index: int) -> Any:
        obj = _any(template(path).render(index, 1), namespace)
        obj = replace(obj, metadata=run.name(obj.metadata, "churn-"))
        await run.target.add([obj])
        return obj

    async def keep_churning() -> None:
        for index in count():
            if not recreates and number and index >= number:
                return
            made = [await create_one(path, index) for path in paths for _ in range(number if recreates else 1)]
            await run.clock.sleep(seconds)
            if recreates:
                for obj in made:
                    current = [o for o in run.target.listed(type(obj)) if o.metadata.key == obj.metadata.key]
                    for found in current:
                        await run.target.remove(found)

    run.background.append(asyncio.create_task(keep_churning()))


async def barrier(run: Run, op: Operation) -> None:
    selector = op.options.get("labelSelector") or {}
    pods = [p.key for p in run.awaited if all(p.metadata.labels.get(k) == v for k, v in selector.items())]
    if op.options.get("stageRequirement") == "Attempted":
        await run.target.until_attempted(pods)
    else:
        await run.target.until_scheduled(pods)


async def sleep(run: Run, op: Operation) -> None:
    await run.clock.sleep(float(str(op.options.get("duration", "0s")).removesuffix("s")))


async def start_collecting(run: Run, op: Operation) -> None:
    run.collector.start(str(op.options.get("name", "")), op.options.get("namespaces"), op.options.get("labelSelector"))


async def stop_collecting(run: Run, op: Operation) -> None:
    run.collector.stop()


async def create_resource_driver(run: Run, op: Operation) -> None:
    pattern, devices = str(op.options["nodes"]), int(op.options.get("maxClaimsPerNode") or 0)
    names = [node.metadata.name for node in run.target.listed(Node) if fnmatchcase(node.metadata.name, pattern)]
    await run.target.add([device_slice(str(op.options["driverName"]), name, devices) for name in names])


OPERATIONS: Final[Mapping[str, Callable[[Run, Operation], Awaitable[None]]]] = {
    "createNodes": create_nodes,
    "createNamespaces": create_namespaces,
    "createPods": create_pods,
    "createPodSets": create_pod_sets,
    "deletePods": delete_pods,
    "createAny": create_any,
    "updateAny": update_any,
    "churn": churn,
    "barrier": barrier,
    "sleep": sleep,
    "startCollectingMetrics": start_collecting,
    "stopCollectingMetrics": stop_collecting,
    "createResourceDriver": create_resource_driver,
}

DEFAULT_NODE: Final = convert(
    {
        "metadata": {"generateName": "scheduler-perf-"},
        "status": {"capacity": {"pods": "110", "cpu": "4", "memory": "32Gi"}},
    },
    Node,
)

_RESOURCES: Final = {"cpu": "100m", "memory": "500Mi"}
DEFAULT_POD: Final = convert(
    {
        "metadata": {"generateName": "pod-"},
        "spec": {"containers": [{"name": "pause", "resources": {"requests": _RESOURCES, "limits": _RESOURCES}}]},
    },
    Pod,
)


def _pods(run: Run, op: Operation, namespace: str) -> list[Any]:
    """The pods of a createPods operation, with their volumes and claims where it asks for them."""
    total = op.count()
    pod_at = _pod_source(op.path("podTemplatePath") or run.default_pod_template, total)
    volume, claim = op.path("persistentVolumeTemplatePath"), op.path("persistentVolumeClaimTemplatePath")
    objects: list[Any] = []
    for index in range(total):
        pod = pod_at(index)
        metadata = replace(run.name(pod.metadata, "pod-"), namespace=namespace)
        pod = replace(pod, metadata=replace(metadata, uid=f"{namespace}/{metadata.name}"))
        if volume is not None and claim is not None:
            objects += bound_claim(template(volume).render(), template(claim).render(), namespace, index)
            pod = with_claim(pod, f"pvc-{index}")
        if pod.spec.resource_claims:
            claims, pod = claims_for(pod, run.target)
            objects += claims
        objects.append(pod)
    return objects


def _pod_source(path: Path | None, total: int) -> Callable[[int], Pod]:
    """The pod for each index; one that does not depend on it is decoded once."""
    if path is None:
        return lambda index: DEFAULT_POD
    source = template(path)
    if source.is_constant:
        pod = convert(source.render(), Pod)
        return lambda index: pod
    return lambda index: convert(source.render(index, total), Pod)


async def _steady_state(run: Run, op: Operation, pods: list[Pod]) -> None:
    """Keep creating and removing the same number of pods for the given time."""
    end = run.clock.monotonic() + float(str(op.options.get("duration", "10s")).removesuffix("s"))
    while run.clock.monotonic() < end:
        await run.target.add(pods)
        await run.target.until_scheduled([pod.key for pod in pods])
        for pod in [p for p in run.target.listed(Pod) if p.metadata.namespace == pods[0].metadata.namespace]:
            await run.target.remove(pod)
        pods = [obj for obj in _pods(run, op, pods[0].metadata.namespace) if isinstance(obj, Pod)]


async def _maybe_in_background(run: Run, op: Operation, work: Any) -> None:
    if op.options.get("skipWaitToCompletion"):
        run.background.append(asyncio.create_task(work))
    else:
        await work


def _any(data: Mapping[str, Any], namespace: str) -> Any:
    obj: Any = decode_object(dict(data))
    if namespace and not obj.metadata.namespace:
        obj = replace(obj, metadata=replace(obj.metadata, namespace=namespace))
    return obj


def _selected(pod: Pod, op: Operation) -> bool:
    selector = op.options.get("labelSelector") or {}
    in_namespace = not op.options.get("namespace") or pod.metadata.namespace == op.options["namespace"]
    return in_namespace and all(pod.metadata.labels.get(key) == value for key, value in selector.items())


def _label_value(strategy: Mapping[str, Any], index: int, node_name: str) -> str:
    values = strategy.get("labelValues")
    return str(values[index % len(values)]) if values else node_name


def _required(path: Path | None, op: Operation) -> Path:
    if path is None:
        raise ConfigurationError([f"{op.opcode}: no template is named"])
    return path
