"""Devices that must be prepared before the pod is bound: the conditions that say when they are."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched.objects import ResourceClaim
from kubesched.objects.dra import AllocatedDeviceStatus, DeviceRequestAllocationResult
from kubesched.objects.meta import Condition


class DeviceNotReady(Exception):  # noqa: N818 - the device's driver says so; nobody made a mistake
    """A device failed to get ready, or did not in time."""


class DeviceLate(DeviceNotReady):
    """It did not get ready in time."""


def wait_is_needed(claims: Iterable[ResourceClaim]) -> bool:
    return any(result.binding_conditions for claim in claims for result in _results(claim))


def is_ready(claim: ResourceClaim) -> bool:
    """Whether all binding conditions of the claim's devices hold. DeviceNotReady if one of them has failed."""
    if claim.status.allocation is None:
        return False
    for result in _results(claim):
        if not result.binding_conditions:
            continue
        status = _status_of(claim, result)
        if status is None:
            return False
        for name in result.binding_failure_conditions:
            failure = _condition(status, name)
            if failure is not None and failure.status == "True":
                raise DeviceNotReady(
                    f"device binding failed: claim={claim.metadata.name}, reason={failure.reason}, "
                    f'message="{failure.message}"'
                )
        conditions = (_condition(status, name) for name in result.binding_conditions)
        if not all(condition is not None and condition.status == "True" for condition in conditions):
            return False
    return True


def is_late(claim: ResourceClaim, now: float, timeout: float) -> bool:
    """Whether the devices have had more time to get ready than they may take."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    waits = any(result.binding_conditions for result in allocation.devices.results)
    return waits and allocation.allocation_timestamp.timestamp() + timeout < now


def is_stuck(claim: ResourceClaim, now: float, timeout: float) -> bool:
    """Whether another device should be tried."""
    try:
        return not is_ready(claim) and is_late(claim, now, timeout)
    except DeviceNotReady:
        return True


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    return claim.status.allocation.devices.results if claim.status.allocation is not None else ()


def _status_of(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    wanted = (result.driver, result.pool, result.device)
    return next((s for s in claim.status.devices if (s.driver, s.pool, s.device) == wanted), None)


def _condition(status: AllocatedDeviceStatus, name: str) -> Condition | None:
    return next((condition for condition in status.conditions if condition.type == name), None)
