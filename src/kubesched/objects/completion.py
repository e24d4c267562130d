"""What an API server fills in, for objects that never saw one: as far as scheduling reads it."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from kubesched.objects.dra import DeviceSubRequest, ExactDeviceRequest, ResourceClaim
from kubesched.objects.kinds import KIND_OF
from kubesched.objects.pod import Container, Pod
from kubesched.objects.quantity import Quantity

DEFAULT_SCHEDULER = "default-scheduler"

R = TypeVar("R", ExactDeviceRequest, DeviceSubRequest)


def completed(obj: Any) -> Any:
    """The object with a namespace and a uid.

    Pods get a scheduler's name, and requests where only limits are given; device requests get an allocation mode.
    """
    metadata = obj.metadata
    if KIND_OF[type(obj)].namespaced and not metadata.namespace:
        metadata = replace(metadata, namespace="default")
    if not metadata.uid:
        metadata = replace(metadata, uid=f"{type(obj).__name__}/{metadata.key}")
    if metadata is not obj.metadata:
        obj = replace(obj, metadata=metadata)
    if isinstance(obj, Pod):
        return _completed_pod(obj)
    return _completed_claim(obj) if isinstance(obj, ResourceClaim) else obj


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


def _completed_claim(claim: ResourceClaim) -> ResourceClaim:
    requests = tuple(
        replace(
            request,
            exactly=request.exactly and _with_mode(request.exactly),
            first_available=tuple(map(_with_mode, request.first_available)),
        )
        for request in claim.spec.devices.requests
    )
    return replace(claim, spec=replace(claim.spec, devices=replace(claim.spec.devices, requests=requests)))


def _with_mode(request: R) -> R:
    """One device, unless the request says otherwise (SetDefaults_ExactDeviceRequest)."""
    if not request.allocation_mode:
        request = replace(request, allocation_mode="ExactCount")
    if request.allocation_mode == "ExactCount" and not request.count:
        request = replace(request, count=1)
    return request


def _with_requests(container: Container) -> Container:
    """A limit without a request is a request, too (SetDefaults_Pod)."""
    resources = container.resources
    requests: dict[str, Quantity] = {**resources.limits, **resources.requests}
    if requests == resources.requests:
        return container
    return replace(container, resources=replace(resources, requests=requests))
