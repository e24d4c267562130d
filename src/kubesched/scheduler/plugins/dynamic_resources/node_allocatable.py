"""Devices that stand for resources of the node itself: a claim for them takes cpu, memory... from the node.

(gate DRANodeAllocatableResources; nodeallocatabledynamicresources.go)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod, ResourceClaim
from kubesched.objects.dra import AllocationResult
from kubesched.objects.pod import NodeAllocatableResourceClaimStatus
from kubesched.objects.pod_resources import ResourceFeatures, in_scheduler_units, pod_requests
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY, is_huge_page_resource
from kubesched.scheduler.columns import Booleans, NodeView, PodTable
from kubesched.scheduler.framework import PodGroupStates, Reason
from kubesched.scheduler.plugins.dynamic_resources.claims import claim_names, is_group
from kubesched.scheduler.plugins.dynamic_resources.node_classes import NodePools
from kubesched.scheduler.plugins.dynamic_resources.pools import PoolDevice
from kubesched.scheduler.plugins.dynamic_resources.tentative_allocation import Pick

Statuses = tuple[NodeAllocatableResourceClaimStatus, ...]
"""What each claim takes from the node, as the pod's status has it."""


TakenDevice = tuple[PoolDevice, Mapping[str, Quantity] | None]
"""A device and, where it is shared, how much of it is consumed."""


def picked_devices(picks: Iterable[Pick], node: NodePools) -> list[TakenDevice]:
    return [(node.pools[pool].devices[k], pick.consumed) for pick in picks for pool, k in (pick.position,)]


def allocated_devices(allocation: AllocationResult, node: NodePools) -> list[TakenDevice]:
    """Those that the node sees."""
    seen = {(pool.id, device.name): device for pool in node.pools for device in pool.devices}
    return [
        (device, result.consumed_capacity)
        for result in allocation.devices.results
        if (device := seen.get(((result.driver, result.pool), result.device))) is not None
    ]


def statuses_of(pod: Pod, taken: Iterable[tuple[ResourceClaim, Iterable[TakenDevice]]]) -> Statuses:
    """For claims that get these devices. InvalidObjectError for a device that says something impossible."""
    claim_of, containers = claim_names(pod), (*pod.spec.init_containers, *pod.spec.containers)
    found = []
    for claim, devices in taken:
        resources: dict[str, Quantity] = {}
        for name, amount in _amounts(claim, devices):
            resources[name] = resources[name] + amount if name in resources else amount
        if resources:
            name = claim.metadata.name
            users = tuple(c.name for c in containers for used in c.resources.claims if claim_of.get(used.name) == name)
            found.append(
                NodeAllocatableResourceClaimStatus(resource_claim_name=name, containers=users, resources=resources)
            )
    return tuple(sorted(found, key=lambda status: status.resource_claim_name))


def _amounts(claim: ResourceClaim, devices: Iterable[TakenDevice]) -> Iterator[tuple[str, Quantity]]:
    for device, consumed_of in devices:
        for name, mapping in device.kind.device.node_allocatable_resource_mappings.items():
            if not mapping.capacity_key:
                yield name, mapping.allocation_multiplier or Quantity.ZERO
                continue
            if not consumed_of:
                raise InvalidObjectError(
                    f"claim {claim.metadata.key}, device {device.name}: ConsumedCapacity is nil, but Capacity key "
                    f"'{mapping.capacity_key}' is set in NodeAllocatableResourceMappings for resource {name}"
                )
            if (consumed := consumed_of.get(mapping.capacity_key)) is not None:
                factor = mapping.allocation_multiplier
                yield name, consumed if factor is None else consumed.times(factor)


def misuse(pod: Pod, statuses: Statuses, features: ResourceFeatures) -> str:
    """Why the pod cannot have these claims on any node; empty if it can."""
    for status in statuses:
        if not status.containers:
            return (
                f"claim {status.resource_claim_name}: node-allocatable resource claim not referenced by any container "
                "within the pod"
            )
    if features.pod_level_resources and pod.spec.resources is not None and pod.spec.resources.requests:
        pod = with_statuses(pod, statuses)
        of_containers = pod_requests(pod, features=_counting_claims(features, pod_level=False))
        for name, whole in pod_requests(pod, features=_counting_claims(features)).items():
            if name in of_containers and of_containers[name] > whole:
                return (
                    f"pod level request for {name} is insufficient to cover the aggregated container and "
                    "node-allocatable DRA requests"
                )
    return ""


def shortages(
    pod: Pod, statuses: Statuses, features: ResourceFeatures, nodes: NodeView
) -> Iterator[tuple[Reason, Booleans]]:
    """Where the node has too little for the pod with these claims, by resource (nodeFitsResources)."""
    demand = pod_requests(with_statuses(pod, statuses), features=_counting_claims(features))
    for name, amount in in_scheduler_units(demand).items():
        if amount > 0 and (name in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_huge_page_resource(name)):
            allocatable, message = nodes.allocatable(name), f"Insufficient {name}"
            too_small = amount > allocatable
            yield Reason.unresolvable(message), too_small
            yield Reason.unschedulable(message), (amount > allocatable - nodes.requested(name)) & ~too_small


def with_statuses(pod: Pod, statuses: Statuses) -> Pod:
    if pod.status.node_allocatable_resource_claim_statuses == statuses:
        return pod
    return replace(pod, status=replace(pod.status, node_allocatable_resource_claim_statuses=statuses))


def _counting_claims(features: ResourceFeatures, *, pod_level: bool = True) -> ResourceFeatures:
    return ResourceFeatures(
        pod_level_resources=features.pod_level_resources and pod_level, node_allocatable_claims=True
    )


def used_by_others(
    claim: ResourceClaim, pod: Pod, groups: PodGroupStates, nodes: NodeView
) -> Iterator[tuple[Reason, Booleans]]:
    """Where a claim takes resources from the node for another pod already (validateNodeAllocatableDRAClaimSharing)."""
    name, rows = claim.metadata.name, nodes.row_ids()
    for node_row, users in _users_by_node(claim, groups, nodes.cluster.pods).items():
        if len(users) > 1:
            yield (
                Reason.unresolvable(f"node allocatable resource claim {name} shared by multiple pods"),
                rows == node_row,
            )
        elif pod.metadata.uid not in users:
            message = f"node allocatable resource claim {name} is already used by another pod"
            yield Reason.unresolvable(message), np.asarray(rows == node_row)


def _users_by_node(claim: ResourceClaim, groups: PodGroupStates, pods: PodTable) -> dict[int, Collection[str]]:
    found: dict[int, set[str]] = {}
    for uid in _users(claim, groups):
        row = pods.row_of(uid)
        info = pods.infos[row] if row is not None else None
        if row is not None and info is not None:
            statuses = info.pod.status.node_allocatable_resource_claim_statuses
            if any(status.resource_claim_name == claim.metadata.name for status in statuses):
                found.setdefault(int(pods.node_row[row]), set()).add(uid)
    return dict(found)


def _users(claim: ResourceClaim, groups: PodGroupStates) -> Iterator[str]:
    """The pods that may use the claim; those of a group, if it is reserved for that."""
    for consumer in claim.status.reserved_for:
        if not is_group(consumer):
            yield consumer.uid
        elif (state := groups.get(claim.metadata.namespace, consumer.name)) is not None:
            yield from (info.uid for info in state.scheduled())
