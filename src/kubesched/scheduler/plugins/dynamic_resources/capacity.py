"""How much of a device's capacity a request consumes, and whether that much is left (consumable capacity)."""

from __future__ import annotations

from collections.abc import Mapping

from kubesched.objects.dra import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    DeviceCapacity,
)
from kubesched.objects.quantity import Quantity

Amounts = Mapping[str, int]
"""By capacity name, in nanos."""


def fits_capacity(
    wanted: CapacityRequirements | None, capacity: Mapping[str, DeviceCapacity], *consumed: Amounts
) -> bool:
    """Whether a request fits beside what is consumed already (CmpRequestOverCapacity)."""
    requests = wanted.requests if wanted is not None else {}
    if not requests.keys() <= capacity.keys():
        return False
    for name, offered in capacity.items():
        amount = _consumption(requests.get(name), offered)
        if _violates(amount, offered.request_policy):
            return False
        if amount.nanos + sum(amounts.get(name, 0) for amounts in consumed) > offered.value.nanos:
            return False
    return True


def consumption(wanted: CapacityRequirements | None, capacity: Mapping[str, DeviceCapacity]) -> dict[str, Quantity]:
    """What a request consumes of a shared device, rounded as the device's policy says."""
    requests = wanted.requests if wanted is not None else {}
    return {name: _consumption(requests.get(name), offered) for name, offered in capacity.items()}


def _consumption(wanted: Quantity | None, offered: DeviceCapacity) -> Quantity:
    policy = offered.request_policy
    if wanted is None:
        return policy.default if policy is not None and policy.default is not None else offered.value
    if policy is None:
        return wanted
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(wanted, policy.valid_range)
    return next((valid for valid in policy.valid_values if wanted <= valid), wanted)


def _rounded_up(wanted: Quantity, valid: CapacityRequestPolicyRange) -> Quantity:
    assert valid.min is not None
    if wanted < valid.min:
        return valid.min
    if valid.step is None or not valid.step.value():
        return wanted
    smallest, step = valid.min.value(), valid.step.value()
    steps = -(-(wanted.value() - smallest) // step)
    return Quantity.of(smallest + step * steps, "BinarySI")


def _violates(amount: Quantity, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == policy.default):
        return False
    if policy.valid_range is not None:
        return _outside(amount, policy.valid_range)
    return bool(policy.valid_values) and amount not in policy.valid_values


def _outside(amount: Quantity, valid: CapacityRequestPolicyRange) -> bool:
    if valid.max is not None and amount > valid.max:
        return True
    if valid.step is None or not valid.step.value():
        return False
    smallest = valid.min.value() if valid.min is not None else 0
    return (amount.value() - smallest) % valid.step.value() != 0
