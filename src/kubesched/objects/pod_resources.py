"""What a pod asks for, by Kubernetes' rules (component-helpers resource.PodRequests and its callers).

    containers ─ sum ─┐
    sidecars ── sum ──┼─ max ── pod-level value instead, where set ── + overhead
    init containers ──┘  (each with the sidecars before it)

Sums are exact and rounded once, at the end: two containers with 0.5m ask for 1m together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kubesched.objects.pod import Container, ContainerStatus, Pod, ResourceRequirements
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    is_huge_page_resource,
    is_scalar_resource,
)

ResourceList: TypeAlias = dict[str, Quantity]

DEFAULT_CPU_REQUEST: Final = Quantity.of_milli(100)
DEFAULT_MEMORY_REQUEST: Final = Quantity.of(200 * 1024 * 1024)
"""What a container without a request counts for in scores, so that such pods do not all end on one node."""

_SCORE_DEFAULTS: Final[Mapping[str, Quantity]] = {CPU: DEFAULT_CPU_REQUEST, MEMORY: DEFAULT_MEMORY_REQUEST}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFeatures:
    """The feature gates that change how requests are computed, with their defaults in v1.36."""

    in_place_resize: bool = True
    in_place_pod_level_resize: bool = True
    pod_level_resources: bool = True
    node_allocatable_claims: bool = False


DEFAULT_FEATURES: Final = ResourceFeatures()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodUsage:
    """What a pod takes on its node: its requests, and cpu and memory as scores count them."""

    requests: dict[str, int]
    non_zero_cpu: int
    non_zero_memory: int
    is_plain: bool = False
    """All rules of this module come to the same: the pod asks for `requests`."""


def pod_requests(
    pod: Pod,
    *,
    use_status: bool = False,
    features: ResourceFeatures = DEFAULT_FEATURES,
    container_defaults: Mapping[str, Quantity] | None = None,
) -> ResourceList:
    """PodRequests. With `use_status` a resize in place counts with the larger of its old and new size.

    `container_defaults` replace what a container leaves out; an explicit zero stays zero.
    """
    requests = _aggregate(pod, _ContainerRequests(pod, use_status, container_defaults or {}))
    if features.node_allocatable_claims:
        for claim in pod.status.node_allocatable_resource_claim_statuses:
            _add(requests, claim.resources)
    if features.pod_level_resources and has_pod_level_requests(pod):
        assert pod.spec.resources is not None
        actual = _pod_level_status(pod, use_status, features)
        spec = pod.spec.resources.requests
        if actual is not None:
            spec = _effective_requests(pod, spec, actual.requests, pod.status.allocated_resources)
        _override(requests, pod.spec.resources.requests, spec)
    _add(requests, pod.spec.overhead)
    return requests


def pod_limits(pod: Pod, *, use_status: bool = False, features: ResourceFeatures = DEFAULT_FEATURES) -> ResourceList:
    """PodLimits: as requests, but overhead is added only to resources that are limited at all."""
    limits = _aggregate(pod, _ContainerLimits(pod, use_status))
    if features.pod_level_resources and pod.spec.resources is not None:
        actual = _pod_level_status(pod, use_status, features)
        spec = pod.spec.resources.limits
        if actual is not None:
            # Where Go's map of actual limits is nil, the spec stands.
            spec = _effective_limits(pod, spec, actual.limits) or spec
        _override(limits, pod.spec.resources.limits, spec)
    for name, quantity in pod.spec.overhead.items():
        if name in limits and not limits[name].is_zero():
            limits[name] += quantity
    return limits


def incoming_requests(pod: Pod, features: ResourceFeatures = DEFAULT_FEATURES) -> dict[str, int]:
    """What NodeResourcesFit looks for on a node (computePodResourceRequest). Nothing was resized yet."""
    return in_scheduler_units(pod_requests(pod, features=features))


def scheduled_usage(pod: Pod, features: ResourceFeatures = DEFAULT_FEATURES) -> PodUsage:
    """What a pod takes on the node it is on (PodInfo.CalculateResource)."""
    requests = pod_requests(pod, use_status=features.in_place_resize, features=features)
    defaults = _SCORE_DEFAULTS
    if features.pod_level_resources and has_pod_level_requests(pod):
        defaults = {name: default for name, default in _SCORE_DEFAULTS.items() if name not in requests}
    non_zero = requests
    leaves_out = _leaves_out(pod, defaults)
    if leaves_out:
        non_zero = pod_requests(
            pod, use_status=features.in_place_resize, features=features, container_defaults=defaults
        )
    counted = in_scheduler_units(requests)
    return PodUsage(
        requests=counted,
        non_zero_cpu=non_zero.get(CPU, Quantity.ZERO).milli_value(),
        non_zero_memory=non_zero.get(MEMORY, Quantity.ZERO).value(),
        is_plain=not leaves_out and len(counted) == len(requests) and not _has_exceptions(pod),
    )


def allocation_score_requests(pod: Pod) -> dict[str, int]:
    """What the incoming pod counts for in NodeResourcesFit's scores: container sums with defaults.

    Pod-level values and resizes are left out: upstream builds these scorers without the feature flags.
    """
    features = ResourceFeatures(pod_level_resources=False)
    return in_units(pod_requests(pod, features=features, container_defaults=_SCORE_DEFAULTS))


def balance_score_requests(pod: Pod, features: ResourceFeatures = DEFAULT_FEATURES) -> dict[str, int]:
    """What the incoming pod counts for in NodeResourcesBalancedAllocation: its requests, without defaults."""
    scorer = ResourceFeatures(
        in_place_resize=features.in_place_resize,
        in_place_pod_level_resize=features.in_place_pod_level_resize,
        pod_level_resources=features.pod_level_resources,
    )
    return in_units(pod_requests(pod, use_status=scorer.in_place_resize, features=scorer))


def in_units(resources: Mapping[str, Quantity]) -> dict[str, int]:
    """Whole numbers, rounded up: cpu in thousandths, everything else in units."""
    return {name: quantity.milli_value() if name == CPU else quantity.value() for name, quantity in resources.items()}


def from_units(resource: str, amount: int) -> Quantity:
    """The inverse of `in_units`, in the form that people write."""
    if resource == CPU:
        return Quantity.of_milli(amount)
    return Quantity.of(amount, "BinarySI" if resource in (MEMORY, EPHEMERAL_STORAGE) else "DecimalSI")


def in_scheduler_units(resources: Mapping[str, Quantity]) -> dict[str, int]:
    """`in_units` of the resources that scheduling counts (framework.Resource.Add); other names are left out."""
    return in_units({name: quantity for name, quantity in resources.items() if _is_counted(name)})


def has_pod_level_requests(pod: Pod) -> bool:
    """Whether the pod itself, not its containers, asks for a resource that may be set there."""
    return pod.spec.resources is not None and any(map(_is_pod_level, pod.spec.resources.requests))


def _has_exceptions(pod: Pod) -> bool:
    """Whether anything but the containers' requests counts by some rules and not by others."""
    status = pod.status
    return bool(
        pod.spec.resources is not None
        or status.resources is not None
        or status.container_statuses
        or status.init_container_statuses
        or status.node_allocatable_resource_claim_statuses
    )


def _is_counted(name: str) -> bool:
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_scalar_resource(name)


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or is_huge_page_resource(name)


def _leaves_out(pod: Pod, names: Mapping[str, Quantity]) -> bool:
    """Whether a container may lack one of these requests. In an infeasible resize its status may, whatever it asks."""
    if not names:
        return False
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    complete = all(names.keys() <= container.resources.requests.keys() for container in containers)
    return not complete or is_resize_infeasible(pod)


class _ContainerRequests:
    """The effective requests of one container of a pod."""

    def __init__(self, pod: Pod, use_status: bool, defaults: Mapping[str, Quantity]) -> None:
        self._pod = pod
        self._statuses = _statuses_by_name(pod) if use_status else {}
        self._defaults = defaults

    def of(self, container: Container, resizable: bool) -> ResourceList:
        requests = container.resources.requests
        status = self._statuses.get(container.name) if resizable else None
        if status is not None and status.resources is not None:
            actual, allocated = status.resources.requests, status.allocated_resources
            requests = _effective_requests(self._pod, requests, actual, allocated)
        return {**self._defaults, **requests} if self._defaults else requests


class _ContainerLimits:
    """The effective limits of one container of a pod."""

    def __init__(self, pod: Pod, use_status: bool) -> None:
        self._pod = pod
        self._statuses = _statuses_by_name(pod) if use_status else {}

    def of(self, container: Container, resizable: bool) -> ResourceList:
        limits = container.resources.limits
        status = self._statuses.get(container.name) if resizable else None
        if status is not None and status.resources is not None:
            return _effective_limits(self._pod, limits, status.resources.limits)
        return limits


def _aggregate(pod: Pod, amounts: _ContainerRequests | _ContainerLimits) -> ResourceList:
    """AggregateContainerRequests: the sum of what runs together, and at least what each init step needs."""
    total: ResourceList = {}
    for container in pod.spec.containers:
        _add(total, amounts.of(container, resizable=True))
    sidecars: ResourceList = {}
    initialization: ResourceList = {}
    for container in pod.spec.init_containers:
        # Only sidecars can be resized; other init containers have run when a resize comes.
        amount = amounts.of(container, resizable=container.is_sidecar)
        if container.is_sidecar:
            _add(total, amount)
            _add(sidecars, amount)
            _raise_to(initialization, sidecars)
        else:
            step = dict(amount)
            _add(step, sidecars)
            _raise_to(initialization, step)
    _raise_to(total, initialization)
    return total


def _statuses_by_name(pod: Pod) -> dict[str, ContainerStatus]:
    return {status.name: status for status in (*pod.status.container_statuses, *pod.status.init_container_statuses)}


def _pod_level_status(pod: Pod, use_status: bool, features: ResourceFeatures) -> ResourceRequirements | None:
    return pod.status.resources if use_status and features.in_place_pod_level_resize else None


def _override(total: ResourceList, pod_level: Mapping[str, Quantity], effective: Mapping[str, Quantity]) -> None:
    for name in pod_level:
        if _is_pod_level(name):
            total[name] = effective.get(name, Quantity.ZERO)


def _effective_requests(pod: Pod, spec: ResourceList, actual: ResourceList, allocated: ResourceList) -> ResourceList:
    """determineEffectiveRequests: a resize that cannot happen does not count."""
    if spec == actual == allocated:  # nearly always; parsed quantities are shared, so that this compares identities
        return spec
    result = {} if is_resize_infeasible(pod) else dict(spec)
    _raise_to(result, actual)
    _raise_to(result, allocated)
    return result


def _effective_limits(pod: Pod, spec: ResourceList, actual: ResourceList) -> ResourceList:
    """determineEffectiveLimits."""
    result = {} if is_resize_infeasible(pod) else dict(spec)
    _raise_to(result, actual)
    return result


def is_resize_infeasible(pod: Pod) -> bool:
    """Whether the node said that it can never give what the pod's resize asks for."""
    pending = next((condition for condition in pod.status.conditions if condition.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def _add(total: ResourceList, more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def _raise_to(total: ResourceList, least: Mapping[str, Quantity]) -> None:
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity
