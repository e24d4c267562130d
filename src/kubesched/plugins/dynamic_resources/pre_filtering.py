"""PreFilter: collect the pod's claims, and find out whether there is anything to allocate for them."""

from __future__ import annotations

from kubesched.columns import PodTemplate
from kubesched.errors import InvalidObjectError
from kubesched.framework import SKIP, SUCCESS, Status
from kubesched.objects import DeviceRequest, Pod, ResourceClaim
from kubesched.objects.node_selectors import compile_node_selector_strictly
from kubesched.objects.resource_names import is_dra_extended_resource
from kubesched.plugins.dynamic_resources.attempt import Attempt
from kubesched.plugins.dynamic_resources.claims import ClaimsNotReady, PodClaims, claims_of
from kubesched.plugins.dynamic_resources.devices import Devices
from kubesched.plugins.dynamic_resources.extended_resources import special_claim


def requested_extended_resources(template: PodTemplate) -> tuple[tuple[str, int], ...]:
    """The pod's requests for resources that devices might provide."""
    return tuple([(name, n) for name, n in template.requests.items() if n and is_dra_extended_resource(name)])


def prepare(attempt: Attempt, pod: Pod, template: PodTemplate, devices: Devices) -> Status:
    """Fill a fresh attempt. Its claims stay empty unless the pod passes: nothing is left to undo then."""
    try:
        own = claims_of(pod, devices.ledger)
    except ClaimsNotReady as reason:
        return Status.unresolvable(str(reason))
    claims = PodClaims(list(own), len(own))
    extended = requested_extended_resources(template) if devices.features.extended_resources else ()
    if any(devices.backing.of(name) is not None for name, _ in extended):
        attempt.extended = extended
        claims.claims.append(special_claim(pod, devices.ledger))
    if not claims:
        return SKIP
    for k, claim in enumerate(claims.claims):
        status = _check(attempt, k, claim, devices, is_special=k >= claims.own)
        if not status.is_success:
            return status
    attempt.searches = bool(claims.to_allocate())
    attempt.claims = claims
    return SUCCESS


def _check(attempt: Attempt, position: int, claim: ResourceClaim, devices: Devices, *, is_special: bool) -> Status:
    allocation = claim.status.allocation
    if allocation is not None:
        if allocation.node_selector is not None:
            try:
                attempt.matchers[position] = compile_node_selector_strictly(allocation.node_selector)
            except InvalidObjectError as error:
                return Status.failed(error.problem)
        return SUCCESS
    if devices.ledger.pending(claim.metadata.uid) is not None:
        return Status.unresolvable(f"resource claim {claim.metadata.key} is in the process of being allocated")
    if is_special:
        return SUCCESS
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
