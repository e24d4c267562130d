"""PreFilter: collect the pod's claims, and find out whether there is anything to allocate for them."""

from __future__ import annotations

from collections.abc import Set

from kubesched.errors import InvalidObjectError
from kubesched.objects import ResourceClaim
from kubesched.objects.dra import AllocationResult, DeviceRequest
from kubesched.objects.node_selectors import compile_node_selector_strictly
from kubesched.objects.resource_names import is_dra_extended_resource
from kubesched.scheduler.columns import PodInfo, PodTemplate
from kubesched.scheduler.framework import SKIP, SUCCESS, Status
from kubesched.scheduler.plugins.dynamic_resources.attempt import Attempt
from kubesched.scheduler.plugins.dynamic_resources.claims import ClaimsNotReady, PodClaims
from kubesched.scheduler.plugins.dynamic_resources.devices import Devices
from kubesched.scheduler.plugins.dynamic_resources.extended_resources import special_claim
from kubesched.scheduler.plugins.dynamic_resources.group_claims import consumers_of


def requested_extended_resources(template: PodTemplate) -> tuple[tuple[str, int], ...]:
    """The pod's requests for resources that devices might provide."""
    return tuple([(name, n) for name, n in template.requests.items() if n and is_dra_extended_resource(name)])


def prepare(attempt: Attempt, info: PodInfo, devices: Devices, placed_group_members: Set[str]) -> Status:
    """Fill a fresh attempt. Its claims stay empty unless the pod passes: nothing is left to undo then.

    `placed_group_members` are pods of its group that were tried before it: it shares what they got.
    """
    pod = info.pod
    try:
        used = devices.claims_of(pod)
    except ClaimsNotReady as reason:
        return Status.unresolvable(str(reason))
    claims = PodClaims([claim for _, claim in used], len(used))
    extended = requested_extended_resources(info.template) if devices.features.extended_resources else ()
    if any(devices.backing.of(name) is not None for name, _ in extended):
        attempt.extended = extended
        claims.claims.append(special_claim(pod, devices.claim_tracker))
    if devices.features.group_claims:
        try:
            claims.consumers = consumers_of(pod, used, devices.groups)
        except ClaimsNotReady as reason:
            return Status.unresolvable(str(reason))
    if not claims:
        return SKIP
    for k, claim in enumerate(claims.claims):
        uid = claim.metadata.uid
        if claim.status.allocation is None and (pending := devices.claim_tracker.pending(uid)) is not None:
            if not devices.claim_tracker.is_held_by(uid, placed_group_members):
                return Status.unresolvable(f"resource claim {claim.metadata.key} is in the process of being allocated")
            claims.shared[k] = pending
        allocation = claims.allocation(k)
        if allocation is not None:
            status = _note_nodes(attempt, k, allocation)
        else:
            status = _check(claim, devices) if k < claims.own else SUCCESS
        if not status.is_success:
            return status
    attempt.searches = bool(claims.to_allocate())
    attempt.claims = claims
    return SUCCESS


def _note_nodes(attempt: Attempt, position: int, allocation: AllocationResult) -> Status:
    """Where an allocated claim can be used. (v1.36.4 forgets to ask that of shared allocations: issue 140087.)"""
    if allocation.node_selector is not None:
        try:
            attempt.matchers[position] = compile_node_selector_strictly(allocation.node_selector)
        except InvalidObjectError as error:
            return Status.failed(error.problem)
    return SUCCESS


def _check(claim: ResourceClaim, devices: Devices) -> Status:
    """Whether the claim asks for something that can be searched for."""
    for request in claim.spec.devices.requests:
        status = _check_request(claim, request, devices)
        if not status.is_success:
            return status
    return SUCCESS


def _check_request(claim: ResourceClaim, request: DeviceRequest, devices: Devices) -> Status:
    where = f"resource claim {claim.metadata.key}, request {request.name}"
    if request.exactly is not None:
        return _check_class(request.exactly.device_class_name, request.name, devices)
    if not request.first_available:
        return Status.unresolvable(f"{where}: unknown request type")
    if not devices.features.prioritized_list:
        return Status.unresolvable(f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled")
    for entry in request.first_available:
        status = _check_class(entry.device_class_name, f"{request.name}/{entry.name}", devices)
        if not status.is_success:
            return status
    return SUCCESS


def _check_class(name: str, request: str, devices: Devices) -> Status:
    if not name:
        return Status.failed(f"request {request}: unsupported request type")
    if devices.classes.get(name) is None:
        return Status.unresolvable(f"request {request}: device class {name} does not exist")
    return SUCCESS
