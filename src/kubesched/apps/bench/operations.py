"""What each operation does, on any target."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from fnmatch import fnmatchcase
from functools import singledispatch
from itertools import count, islice
from typing import Any, Final, TypeVar

from kubesched.apps.bench import opcodes
from kubesched.apps.bench.manifests import (
    DEFAULT_NODE,
    DEFAULT_POD,
    bound_volume,
    claims_of_templates,
    csi_node,
    device_slice,
    labels_of,
    prepared_node,
    with_metadata,
    with_volume,
)
from kubesched.apps.bench.run_state import Run
from kubesched.apps.bench.templates import Manifest
from kubesched.config.duration import parse_duration
from kubesched.errors import ConfigurationError, KubeschedError
from kubesched.objects import KINDS

BATCH: Final = 5000
"""So many objects are made before they are handed over, so that a million of them need not exist twice."""

T = TypeVar("T")


@singledispatch
async def perform(operation: opcodes.Operation, run: Run) -> None:
    """Do an operation. Raises KubeschedError if that is not possible."""
    raise KubeschedError(f"{opcodes.opcode(operation)} is not supported")


@perform.register
async def create_nodes(op: opcodes.CreateNodes, run: Run) -> None:
    features = [f"Feature{number + 1}" for number in range(run.workload.declared_features)]
    strategy = op.node_allocatable_strategy

    def nodes() -> Iterable[Manifest]:
        for index in range(op.count):
            manifest = run.rendered(op.node_template_path, index, op.count) if op.node_template_path else DEFAULT_NODE
            name = run.name_of(manifest)
            run.nodes.append(name)
            yield prepared_node(manifest, name, index, op, features)
            if strategy is not None and strategy.csi_node_allocatable:
                yield csi_node(name, strategy)

    await _create(run, nodes())


@perform.register
async def create_namespaces(op: opcodes.CreateNamespaces, run: Run) -> None:
    base = {"apiVersion": "v1", "kind": "Namespace"}
    for index in range(op.count):
        manifest = run.rendered(op.namespace_template_path) if op.namespace_template_path else base
        await run.ensure_namespace(f"{op.prefix}-{index}", manifest)


@perform.register
async def create_pods(op: opcodes.CreatePods, run: Run) -> None:
    namespace = op.namespace or f"namespace-{run.position}"
    await run.ensure_namespace(namespace)
    if op.steady_state:
        await _steady_state(op, run, namespace)
        return
    pods = await _made_pods(op, run, namespace)
    names = [key for key, _ in pods]
    if op.collect_metrics and run.holds:
        await run.target.hold()
        await run.target.create([prepared for _, prepared in pods])
        run.collector.start(namespace, [namespace], {}, from_first=True)
        await run.target.release()
    else:
        if op.collect_metrics:
            run.collector.start(namespace, [namespace], {})
        await run.target.create([prepared for _, prepared in pods])
    if op.skip_wait_to_completion:
        run.awaited.update(names)
        return
    await run.target.pods.until_scheduled(names)
    if op.collect_metrics:
        run.collector.stop()


@perform.register
async def create_pod_sets(op: opcodes.CreatePodSets, run: Run) -> None:
    for index in range(op.count):
        fields = {name: getattr(op.create_pods_op, name) for name in op.create_pods_op.__struct_fields__}
        await create_pods(opcodes.CreatePods(**{**fields, "namespace": f"{op.namespace_prefix}-{index}"}), run)


@perform.register
async def delete_pods(op: opcodes.DeletePods, run: Run) -> None:
    pods = run.pods_in([op.namespace], op.label_selector)

    async def delete_all() -> None:
        async for pod in _paced(run, pods, op.delete_pods_per_second):
            await _delete_pod(run, pod)

    if op.skip_wait_to_completion:
        run.start(delete_all())
    else:
        await delete_all()


@perform.register
async def create_any(op: opcodes.CreateAny, run: Run) -> None:
    if op.namespace:
        await run.ensure_namespace(op.namespace)
    await _create(run, (_named(run, op.template_path, op.namespace, index, op.count) for index in range(op.count)))


@perform.register
async def create_resource_claims(op: opcodes.CreateResourceClaims, run: Run) -> None:
    await run.ensure_namespace(op.namespace)
    await _create(run, (_named(run, op.template_path, op.namespace, index, op.count) for index in range(op.count)))


@perform.register
async def update_any(op: opcodes.UpdateAny, run: Run) -> None:
    async for index in _paced(run, range(op.count), op.update_per_second):
        manifest = run.rendered(op.template_path, index, op.count)
        await run.target.update(with_metadata(manifest, namespace=op.namespace or None), op.subresources)


@perform.register
async def churn(op: opcodes.Churn, run: Run) -> None:
    """Objects that come (and go) beside the measured ones, until the workload ends."""
    namespace = op.namespace or f"namespace-{run.position}"
    await run.ensure_namespace(namespace)

    async def create(path: str) -> Manifest:
        manifest = _named(run, path, namespace)
        await run.target.create([run.target.prepare(manifest)])
        return manifest

    async def keep_creating() -> None:
        async for _ in _paced(run, range(op.number) if op.number else count(), 1000 / op.interval_milliseconds):
            for path in op.template_paths:
                await create(path)

    async def keep_recreating() -> None:
        """Each tick creates one object of every template or deletes it again, in turns over `number` places."""
        places: dict[tuple[str, int], Manifest] = {}
        async for tick in _paced(run, count(), 1000 / op.interval_milliseconds):
            for path in op.template_paths:
                place = (path, tick % op.number)
                if (made := places.pop(place, None)) is None:
                    places[place] = await create(path)
                else:
                    metadata = made["metadata"]
                    await run.target.delete(made["kind"], metadata["name"], metadata.get("namespace", ""))

    run.start(keep_creating() if op.mode == "create" else keep_recreating())


@perform.register
async def barrier(op: opcodes.Barrier, run: Run) -> None:
    chosen = run.pods_in(op.namespaces, op.label_selector)
    awaited = [pod for pod in chosen if pod in run.awaited]
    if op.stage_requirement == "Attempted":
        await run.target.pods.until_attempted(awaited)
    else:
        await run.target.pods.until_scheduled(awaited)
        run.awaited.difference_update(awaited)


@perform.register
async def sleep(op: opcodes.Sleep, run: Run) -> None:
    await run.clock.sleep(parse_duration(op.duration).total_seconds())


@perform.register
async def start_collecting(op: opcodes.StartCollectingMetrics, run: Run) -> None:
    run.collector.start(op.name, op.namespaces, op.label_selector)


@perform.register
async def stop_collecting(op: opcodes.StopCollectingMetrics, run: Run) -> None:
    run.collector.stop()


@perform.register
async def create_resource_driver(op: opcodes.CreateResourceDriver, run: Run) -> None:
    names = [name for name in run.nodes if fnmatchcase(name, op.nodes)]
    for name in names:
        run.devices.add(op.driver_name, name, op.max_claims_per_node)
    await _create(run, (device_slice(op.driver_name, name, op.max_claims_per_node) for name in names))


@perform.register
async def alloc_resource_claims(op: opcodes.AllocResourceClaims, run: Run) -> None:
    """Allocated claims that belong to no pod."""
    for claim in run.claims_in(op.namespace):
        await run.target.update(run.devices.allocate(claim), ["status"])


async def _create(run: Run, manifests: Iterable[Manifest]) -> None:
    source = iter(manifests)
    while batch := list(islice(source, BATCH)):
        for manifest in batch:
            run.remember(manifest)
        await run.target.create([run.target.prepare(manifest) for manifest in batch])


async def _made_pods(op: opcodes.CreatePods, run: Run, namespace: str) -> list[tuple[str, Any]]:
    """The pods of an operation, ready to be created; their volumes and claims are created already."""
    path = op.pod_template_path or run.workload.default_pod_template
    others: list[Manifest] = []
    pods: list[tuple[str, Any]] = []
    for index in range(op.count):
        manifest = run.rendered(path, index, op.count) if path else DEFAULT_POD
        name = run.name_of(manifest)
        pod = with_metadata(manifest, name=name, namespace=namespace, uid=f"{namespace}/{name}")
        if op.persistent_volume_claim_template_path:
            volume = run.rendered(op.persistent_volume_template_path)
            claim = run.rendered(op.persistent_volume_claim_template_path)
            others += bound_volume(volume, claim, namespace, index)
            pod = with_volume(pod, f"pvc-{index}")
        claims, pod = claims_of_templates(pod, run.claim_templates.get(namespace, {}))
        key = f"{namespace}/{name}"
        run.pod_labels[key] = labels_of(pod)
        run.pod_claims[key] = [made["metadata"]["name"] for made in claims]
        others += claims
        pods.append((key, run.target.prepare(pod)))
    await run.target.create([run.target.prepare(manifest) for manifest in others])
    return pods


async def _steady_state(op: opcodes.CreatePods, run: Run, namespace: str) -> None:
    """Keep that many pods coming: once all are scheduled, they are deleted and the next come."""
    end = run.clock.monotonic() + parse_duration(op.duration).total_seconds()
    if op.collect_metrics:
        run.collector.start(namespace, [namespace], {})
    while run.clock.monotonic() < end:
        pods = await _made_pods(op, run, namespace)
        await run.target.create([prepared for _, prepared in pods])
        await run.target.pods.until_scheduled([key for key, _ in pods])
        for key, _ in pods:
            await _delete_pod(run, key, at_once=True)
    if op.collect_metrics:
        run.collector.stop()


async def _delete_pod(run: Run, pod: str, *, at_once: bool = False) -> None:
    """Delete a pod and the claims that were made for it."""
    namespace, _, name = pod.partition("/")
    await run.target.delete("Pod", name, namespace, at_once=at_once)
    for claim in run.pod_claims.pop(pod, ()):
        await run.target.delete("ResourceClaim", claim, namespace)
    run.awaited.discard(pod)
    run.deleted.add(pod)


def _named(run: Run, path: str, namespace: str, index: int = 0, total: int = 1) -> Manifest:
    """A template's object with a name; in the namespace, if its kind has one."""
    manifest = run.rendered(path, index, total)
    kind = KINDS.get(manifest.get("kind", ""))
    if kind is None:
        raise ConfigurationError([f"{path}: kind {manifest.get('kind')!r} is not known"])
    return with_metadata(manifest, name=run.name_of(manifest), namespace=namespace if kind.namespaced else None)


async def _paced(run: Run, items: Iterable[T], per_second: float) -> AsyncIterator[T]:
    """The items, so many a second; all at once if that is 0."""
    started = run.clock.monotonic()
    for number, item in enumerate(items, 1):
        if per_second:
            await run.clock.sleep(max(0.0, started + number / per_second - run.clock.monotonic()))
        yield item
