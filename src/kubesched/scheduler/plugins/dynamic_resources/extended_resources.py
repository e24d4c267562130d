"""Extended resources (example.com/gpu: 2) that devices stand behind: a claim of the scheduler's own making."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from kubesched.objects import Pod, ResourceClaim
from kubesched.objects.dra import DeviceClaim, DeviceRequest, ExactDeviceRequest, ResourceClaimSpec
from kubesched.objects.meta import ObjectMeta, OwnerReference
from kubesched.objects.pod import Container, ContainerExtendedResourceRequest
from kubesched.scheduler.plugins.support.devices.backing import BackingClasses
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker

IN_MEMORY_NAME: Final = "<extended-resources>"
"""The claim's name while it exists in memory only; deliberately none that an API server would take."""
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"


def special_claim(pod: Pod, tracker: ClaimTracker) -> ResourceClaim:
    """The claim left over from an earlier attempt, else a new one without requests: nodes differ in what they need."""
    for claim in tracker.owned_by(pod.metadata.uid):
        if claim.metadata.annotations.get(ANNOTATION) == "true":
            return claim
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True)
    metadata = ObjectMeta(
        name=IN_MEMORY_NAME,
        generate_name=f"{pod.metadata.name}-extended-resources-",
        namespace=pod.metadata.namespace,
        uid=f"{IN_MEMORY_NAME}/{pod.metadata.uid}",
        owner_references=(owner,),
        annotations={ANNOTATION: "true"},
    )
    return ResourceClaim(metadata=metadata)


def is_in_memory(claim: ResourceClaim) -> bool:
    return claim.metadata.name == IN_MEMORY_NAME


@dataclass(frozen=True, slots=True)
class NodeVariant:
    """The special claim as one kind of node needs it, and which container's resource each request stands for."""

    claim: ResourceClaim
    mappings: tuple[ContainerExtendedResourceRequest, ...]


def variant_for(pod: Pod, claim: ResourceClaim, resources: Iterable[str], backing: BackingClasses) -> NodeVariant:
    """`resources` are those that the node's devices must provide (createRequestsAndMappings)."""
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in sorted(resources):
        device_class = backing.of(resource)
        if device_class is not None:
            of_resource, its_mappings = _for_resource(pod, resource, device_class.metadata.name)
            requests += of_resource
            mappings += its_mappings
    requests.sort(key=lambda request: request.name)
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=tuple(requests)))
    return NodeVariant(replace(claim, spec=spec), tuple(mappings))


def _for_resource(
    pod: Pod, resource: str, class_name: str
) -> tuple[list[DeviceRequest], list[ContainerExtendedResourceRequest]]:
    """Init containers use what later containers hold, and what they need beyond that they use one after the other."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    passing = [k for k, container in enumerate(pod.spec.init_containers) if not container.is_sidecar]
    lasting: dict[int, DeviceRequest] = {}
    mappings: list[ContainerExtendedResourceRequest] = []
    for k, container in enumerate(containers):
        if k not in passing:
            request, used = _request(k, container, resource, class_name, ())
            mappings += used
            if request is not None:
                lasting[k] = request
    largest: DeviceRequest | None = None
    names: set[str] = set()
    used_in_passing: list[ContainerExtendedResourceRequest] = []
    for k in passing:
        later = [request for position, request in lasting.items() if position >= k]
        request, used = _request(k, containers[k], resource, class_name, later)
        used_in_passing += used
        if request is not None:
            names.add(request.name)
            if largest is None or _count(largest) < _count(request):
                largest = request
    if largest is not None:
        mappings += [
            replace(used, request_name=largest.name) if used.request_name in names else used for used in used_in_passing
        ]
        return [largest, *lasting.values()], mappings
    return list(lasting.values()), mappings + used_in_passing


def _request(
    position: int, container: Container, resource: str, class_name: str, reusable: Sequence[DeviceRequest]
) -> tuple[DeviceRequest | None, list[ContainerExtendedResourceRequest]]:
    """What a container asks for beyond the requests that it can reuse, and all requests that it uses."""
    wanted = container.resources.requests.get(resource)
    if wanted is None or wanted.is_zero() or wanted.nanos % 10**9:
        return None, []
    count, mappings, reused = wanted.value(), [], 0
    for request in reusable:
        reused += _count(request)
        mappings.append(_mapping(container, resource, request.name))
        if reused >= count:
            return None, mappings
    index = sorted(container.resources.requests).index(resource)
    request = DeviceRequest(
        name=f"container-{position}-request-{index}",
        exactly=ExactDeviceRequest(device_class_name=class_name, allocation_mode="ExactCount", count=count - reused),
    )
    mappings.append(_mapping(container, resource, request.name))
    return request, mappings


def _mapping(container: Container, resource: str, request: str) -> ContainerExtendedResourceRequest:
    return ContainerExtendedResourceRequest(container_name=container.name, resource_name=resource, request_name=request)


def _count(request: DeviceRequest) -> int:
    assert request.exactly is not None
    return request.exactly.count
