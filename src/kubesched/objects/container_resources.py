"""What a pod's containers ask for together, and what a resize in place makes of that.

Until v1.36 a resize counted container by container; since v1.37 it counts for the pod as a whole (POD_WIDE_RESIZE), so
that what one container gives another may have at the same time. Empty lists of a status are taken for missing ones: an
API server leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from kubesched.objects.pod import Container, ContainerStatus, Pod
from kubesched.objects.quantity import Quantity

ResourceList: TypeAlias = dict[str, Quantity]
AmountOf: TypeAlias = Callable[[Container, bool], ResourceList]
"""Of a container, and whether it runs on: an init container that is no sidecar has ended when a resize comes."""


def total_requests(
    pod: Pod, *, use_status: bool, pod_wide: bool, uses_pod_status: bool, defaults: Mapping[str, Quantity]
) -> ResourceList:
    """AggregateContainerRequests. `uses_pod_status`: totals that the kubelet reports for the pod go before those of
    its containers. `defaults` replace what a container leaves out; an explicit zero stays zero.
    """

    def with_defaults(requests: ResourceList) -> ResourceList:
        return {**defaults, **requests} if defaults else requests

    if not use_status:
        return aggregate(pod, lambda container, _: with_defaults(container.resources.requests))
    statuses = statuses_by_name(pod)
    if not pod_wide:
        return aggregate(
            pod,
            lambda container, runs_on: with_defaults(_effective_requests(pod, container, statuses if runs_on else {})),
        )
    spec = aggregate(pod, lambda container, _: with_defaults(container.resources.requests))
    is_infeasible = is_resize_infeasible(pod)
    reported, allocated = pod.status.resources, pod.status.allocated_resources
    if uses_pod_status and allocated and reported is not None and reported.requests:
        return largest(() if is_infeasible else (spec,), reported.requests, allocated)
    if not is_infeasible and not any(status.allocated_resources or status.resources for status in statuses.values()):
        return spec

    def allocated_of(container: Container, _: bool) -> ResourceList:
        status = statuses.get(container.name)
        if status is not None and status.allocated_resources:
            return with_defaults(status.allocated_resources)
        return with_defaults({} if is_infeasible else container.resources.requests)

    def actual_of(container: Container, runs_on: bool) -> ResourceList:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.requests:
            return with_defaults(status.resources.requests)
        return allocated_of(container, runs_on)

    return largest(() if is_infeasible else (spec,), aggregate(pod, actual_of), aggregate(pod, allocated_of))


def total_limits(pod: Pod, *, use_status: bool, pod_wide: bool, uses_pod_status: bool) -> ResourceList:
    """AggregateContainerLimits."""
    if not use_status:
        return aggregate(pod, lambda container, _: container.resources.limits)
    statuses = statuses_by_name(pod)
    if not pod_wide:
        return aggregate(pod, lambda container, runs_on: _effective_limits(pod, container, statuses if runs_on else {}))
    is_infeasible = is_resize_infeasible(pod)

    def actual_of(container: Container, _: bool) -> ResourceList:
        status = statuses.get(container.name)
        if status is not None and status.resources is not None and status.resources.limits:
            return status.resources.limits
        return {} if is_infeasible else container.resources.limits

    reported = pod.status.resources
    actual = reported.limits if uses_pod_status and reported is not None and reported.limits else None
    spec = () if is_infeasible else (aggregate(pod, lambda container, _: container.resources.limits),)
    return largest(spec, actual or aggregate(pod, actual_of))


def aggregate(pod: Pod, amount_of: AmountOf) -> ResourceList:
    """The sum of what runs together, and at least what each init step needs with the sidecars before it."""
    total: ResourceList = {}
    for container in pod.spec.containers:
        add(total, amount_of(container, True))
    sidecars: ResourceList = {}
    initialization: ResourceList = {}
    for container in pod.spec.init_containers:
        amount = amount_of(container, container.is_sidecar)
        if container.is_sidecar:
            add(total, amount)
            add(sidecars, amount)
            raise_to(initialization, sidecars)
        else:
            step = dict(amount)
            add(step, sidecars)
            raise_to(initialization, step)
    raise_to(total, initialization)
    return total


def _effective_requests(pod: Pod, container: Container, statuses: Mapping[str, ContainerStatus]) -> ResourceList:
    """determineEffectiveRequests, for one container."""
    requests = container.resources.requests
    status = statuses.get(container.name)
    if status is None or status.resources is None:
        return requests
    actual, allocated = status.resources.requests, status.allocated_resources
    if requests == actual == allocated:  # nearly always; parsed quantities are shared, so this compares identities
        return requests
    return largest(() if is_resize_infeasible(pod) else (requests,), actual, allocated)


def _effective_limits(pod: Pod, container: Container, statuses: Mapping[str, ContainerStatus]) -> ResourceList:
    """determineEffectiveLimits, for one container."""
    status = statuses.get(container.name)
    if status is None or status.resources is None:
        return container.resources.limits
    return largest(() if is_resize_infeasible(pod) else (container.resources.limits,), status.resources.limits)


def statuses_by_name(pod: Pod) -> dict[str, ContainerStatus]:
    return {status.name: status for status in (*pod.status.container_statuses, *pod.status.init_container_statuses)}


def is_resize_infeasible(pod: Pod) -> bool:
    """Whether the node said that it can never give what the pod's resize asks for."""
    pending = next((condition for condition in pod.status.conditions if condition.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def largest(first: tuple[Mapping[str, Quantity], ...], *more: Mapping[str, Quantity]) -> ResourceList:
    """By name, the largest amount in any of the lists."""
    result: ResourceList = {}
    for amounts in (*first, *more):
        raise_to(result, amounts)
    return result


def add(total: ResourceList, more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def raise_to(total: ResourceList, least: Mapping[str, Quantity]) -> None:
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity
