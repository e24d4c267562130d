"""What a pod asks for, by Kubernetes' rules (component-helpers resource.PodRequests and its callers).

    containers ─ sum ─┐
    sidecars ── sum ──┼─ max ── pod-level value instead, where set ── + overhead
    init containers ──┘  (each with the sidecars before it)

Sums are exact and rounded once, at the end: two containers with 0.5m ask for 1m together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kubesched.objects.container_resources import (
    ResourceList,
    add,
    is_resize_infeasible,
    largest,
    total_limits,
    total_requests,
)
from kubesched.objects.pod import Pod, ResourceRequirements
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    is_huge_page_resource,
    is_scalar_resource,
)

DEFAULT_CPU_REQUEST: Final = Quantity.of_milli(100)
DEFAULT_MEMORY_REQUEST: Final = Quantity.of(200 * 1024 * 1024)
"""What a container without a request counts for in scores, so that such pods do not all end on one node."""

_SCORE_DEFAULTS: Final[Mapping[str, Quantity]] = {CPU: DEFAULT_CPU_REQUEST, MEMORY: DEFAULT_MEMORY_REQUEST}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFeatures:
    """The feature gates and behaviours that change how requests are computed, with their defaults in v1.37."""

    in_place_resize: bool = True
    in_place_pod_level_resize: bool = True
    pod_level_resources: bool = True
    node_allocatable_claims: bool = False
    pod_wide_resize: bool = True


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
    requests = total_requests(
        pod,
        use_status=use_status,
        pod_wide=features.pod_wide_resize,
        uses_pod_status=features.in_place_pod_level_resize,
        defaults=container_defaults or {},
    )
    if features.node_allocatable_claims:
        for claim in pod.status.node_allocatable_resource_claim_statuses:
            add(requests, claim.resources)
    if features.pod_level_resources and has_pod_level_requests(pod):
        assert pod.spec.resources is not None
        own: Mapping[str, Quantity] = pod.spec.resources.requests
        actual = _pod_level_status(pod, use_status, features)
        if actual is not None:
            own = _effective(pod, own, features, actual.requests, pod.status.allocated_resources)
        _override(requests, own)
    add(requests, pod.spec.overhead)
    return requests


def pod_limits(pod: Pod, *, use_status: bool = False, features: ResourceFeatures = DEFAULT_FEATURES) -> ResourceList:
    """PodLimits: as requests, but overhead is added only to resources that are limited at all."""
    limits = total_limits(
        pod,
        use_status=use_status,
        pod_wide=features.pod_wide_resize,
        uses_pod_status=features.in_place_pod_level_resize,
    )
    if features.pod_level_resources and pod.spec.resources is not None:
        own: Mapping[str, Quantity] = pod.spec.resources.limits
        actual = _pod_level_status(pod, use_status, features)
        if actual is not None and (actual.limits or features.pod_wide_resize or not is_resize_infeasible(pod)):
            # Until v1.36, where Go's map of actual limits is nil, the spec stands.
            own = _effective(pod, own, features, actual.limits)
        _override(limits, own)
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
        pod_wide_resize=features.pod_wide_resize,
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
        or status.allocated_resources
        or status.container_statuses
        or status.init_container_statuses
        or status.node_allocatable_resource_claim_statuses
    )


def _is_counted(name: str) -> bool:
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_scalar_resource(name)


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or is_huge_page_resource(name)


def _leaves_out(pod: Pod, names: Mapping[str, Quantity]) -> bool:
    """Whether a container, or the status of one, may lack one of these requests."""
    if not names:
        return False
    if is_resize_infeasible(pod):
        return True
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return any(
        not names.keys() <= amounts.keys()
        for amounts in (
            *(container.resources.requests for container in (*pod.spec.containers, *pod.spec.init_containers)),
            *(status.allocated_resources for status in statuses if status.allocated_resources),
            *(status.resources.requests for status in statuses if status.resources and status.resources.requests),
        )
    )


def _pod_level_status(pod: Pod, use_status: bool, features: ResourceFeatures) -> ResourceRequirements | None:
    return pod.status.resources if use_status and features.in_place_pod_level_resize else None


def _effective(
    pod: Pod, spec: Mapping[str, Quantity], features: ResourceFeatures, *reported: Mapping[str, Quantity]
) -> dict[str, Quantity]:
    """The pod's own amounts in a resize, of the names that it asks for; since v1.37 of all that are reported."""
    amounts = largest(() if is_resize_infeasible(pod) else (spec,), *reported)
    return amounts if features.pod_wide_resize else {name: amounts.get(name, Quantity.ZERO) for name in spec}


def _override(total: ResourceList, pod_level: Mapping[str, Quantity]) -> None:
    total.update((name, amount) for name, amount in pod_level.items() if _is_pod_level(name))
