"""Devices that must be prepared before the pod is bound: the conditions that say when they are."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched.objects import ResourceClaim
from kubesched.objects.dra import DeviceRequestAllocationResult


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
    statuses = {(status.driver, status.pool, status.device): status for status in reversed(claim.status.devices)}
    for result in _results(claim):
        if not result.binding_conditions:
            continue
        status = statuses.get((result.driver, result.pool, result.device))
        if status is None:
            return False
        reported = {condition.type: condition for condition in reversed(status.conditions)}
        for name in result.binding_failure_conditions:
            failure = reported.get(name)
            if failure is not None and failure.status == "True":
                raise DeviceNotReady(
                    f"device binding failed: claim={claim.metadata.name}, reason={failure.reason}, "
                    f'message="{failure.message}"'
                )
        conditions = map(reported.get, result.binding_conditions)
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
