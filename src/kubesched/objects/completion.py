"""What an API server fills in, for objects that never saw one: as far as scheduling reads it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kubesched.objects.kinds import KIND_OF
from kubesched.objects.pod import Container, Pod
from kubesched.objects.quantity import Quantity

DEFAULT_SCHEDULER = "default-scheduler"


def completed(obj: Any) -> Any:
    """The object with a namespace, a uid and, for pods, a scheduler's name and requests where only limits are given."""
    metadata = obj.metadata
    if KIND_OF[type(obj)].namespaced and not metadata.namespace:
        metadata = replace(metadata, namespace="default")
    if not metadata.uid:
        metadata = replace(metadata, uid=f"{type(obj).__name__}/{metadata.key}")
    if metadata is not obj.metadata:
        obj = replace(obj, metadata=metadata)
    return _completed_pod(obj) if isinstance(obj, Pod) else obj


def _completed_pod(pod: Pod) -> Pod:
    spec = pod.spec
    return replace(
        pod,
        spec=replace(
            spec,
            scheduler_name=spec.scheduler_name or DEFAULT_SCHEDULER,
            containers=tuple(map(_with_requests, spec.containers)),
            init_containers=tuple(map(_with_requests, spec.init_containers)),
        ),
    )


def _with_requests(container: Container) -> Container:
    """A limit without a request is a request, too (SetDefaults_Pod)."""
    resources = container.resources
    requests: dict[str, Quantity] = {**resources.limits, **resources.requests}
    if requests == resources.requests:
        return container
    return replace(container, resources=replace(resources, requests=requests))
