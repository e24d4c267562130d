"""The device requests of claims, made ready for the search: classes looked up, selectors in one list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects import DeviceClass, ResourceClaim
from kubesched.objects.dra import (
    CapacityRequirements,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
)
from kubesched.objects.tolerations import Tolerations
from kubesched.scheduler.framework import ObjectStore
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.scheduler.plugins.support.devices.selection import Condition, class_conditions

ALL: Final = "All"
EXACT_COUNT: Final = "ExactCount"


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """One way to satisfy a request: the request itself, or one entry of its prioritised list."""

    request: str
    sub_request: str
    rank: int
    """Its place in the prioritised list."""
    device_class: DeviceClass
    conditions: tuple[Condition, ...]
    wants_all: bool
    count: int
    admin_access: bool
    tolerations: tuple[DeviceToleration, ...]
    tolerated: Tolerations
    capacity: CapacityRequirements | None

    @property
    def name(self) -> str:
        """As messages name it."""
        return self.sub_request or self.request

    @property
    def reference(self) -> str:
        """As allocations name it."""
        return f"{self.request}/{self.sub_request}" if self.sub_request else self.request


@dataclass(frozen=True, slots=True, eq=False)
class RequestPlan:
    """`is_list`: one of the alternatives suffices, the first that can be had."""

    alternatives: tuple[Alternative, ...]
    is_list: bool


@dataclass(frozen=True, slots=True, eq=False)
class ClaimPlan:
    claim: ResourceClaim
    requests: tuple[RequestPlan, ...]

    @property
    def key(self) -> str:
        return self.claim.metadata.key

    @property
    def wants_all(self) -> bool:
        return any(alternative.wants_all for request in self.requests for alternative in request.alternatives)


def plan_claims(
    claims: Sequence[ResourceClaim], classes: ObjectStore[DeviceClass], features: DeviceFeatures
) -> tuple[ClaimPlan, ...]:
    """InvalidObjectError if a claim asks for something that is not understood (validateDeviceRequest)."""
    return tuple(
        ClaimPlan(claim, tuple(_plan(claim, request, classes, features) for request in claim.spec.devices.requests))
        for claim in claims
    )


def _plan(
    claim: ResourceClaim, request: DeviceRequest, classes: ObjectStore[DeviceClass], features: DeviceFeatures
) -> RequestPlan:
    where = f"claim {claim.metadata.key}, request {request.name}"
    if request.first_available:
        if not features.prioritized_list:
            raise InvalidObjectError(f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled")
        entries = tuple(
            _alternative(claim, request.name, entry, rank, classes, features)
            for rank, entry in enumerate(request.first_available)
        )
        return RequestPlan(entries, is_list=True)
    exactly = request.exactly or ExactDeviceRequest()
    return RequestPlan((_alternative(claim, request.name, exactly, 0, classes, features),), is_list=False)


def _alternative(
    claim: ResourceClaim,
    request: str,
    source: ExactDeviceRequest | DeviceSubRequest,
    rank: int,
    classes: ObjectStore[DeviceClass],
    features: DeviceFeatures,
) -> Alternative:
    sub_request = source.name if isinstance(source, DeviceSubRequest) else ""
    admin_access = source.admin_access if isinstance(source, ExactDeviceRequest) else None
    where = f"claim {claim.metadata.key}, request {sub_request or request}"
    if source.capacity is not None and not features.consumable_capacity:
        what = f"subrequest {sub_request}" if sub_request else f"request {request}"
        raise InvalidObjectError(
            f"claim {claim.metadata.key}, {what}: has capacity requests, "
            "but the DRAConsumableCapacity feature is disabled"
        )
    for k, selector in enumerate(source.selectors):
        if selector.cel is None:
            raise InvalidObjectError(f"{where}, selector #{k}: CEL expression empty (unsupported selector type?)")
    if admin_access is not None and not features.admin_access:
        raise InvalidObjectError(f"{where}: admin access is requested, but the feature is disabled")
    if not source.device_class_name:
        raise InvalidObjectError(f"{where}: missing device class name (unsupported request type?)")
    device_class = classes.get(source.device_class_name)
    if device_class is None:
        name = source.device_class_name
        raise InvalidObjectError(
            f'{where}: could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
        )
    if source.allocation_mode not in (ALL, EXACT_COUNT):
        raise InvalidObjectError(f"{where}: unsupported count mode {source.allocation_mode}")
    return Alternative(
        request=request,
        sub_request=sub_request,
        rank=rank,
        device_class=device_class,
        conditions=_conditions(claim, device_class, source),
        wants_all=source.allocation_mode == ALL,
        count=source.count,
        admin_access=bool(admin_access),
        tolerations=source.tolerations,
        tolerated=Tolerations(source.tolerations),
        capacity=source.capacity,
    )


def _conditions(
    claim: ResourceClaim, device_class: DeviceClass, source: ExactDeviceRequest | DeviceSubRequest
) -> tuple[Condition, ...]:
    """The class's conditions, then the request's."""
    of_request = [
        Condition(f"claim {claim.metadata.key}: selector #{k}", selector.cel.expression)
        for k, selector in enumerate(source.selectors)
        if selector.cel is not None
    ]
    return (*class_conditions(device_class), *of_request)
