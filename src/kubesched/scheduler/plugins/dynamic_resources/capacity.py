"""How much of a device's capacity a request consumes, and whether that much is left (consumable capacity)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects.dra import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    CapacityRequirements,
    DeviceCapacity,
)
from kubesched.objects.quantity import Quantity
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures

Amounts = Mapping[str, int]
"""By capacity name, in nanos."""

_NANOS_PER_MILLI: Final = 10**6
_NANOS_PER_UNIT: Final = 10**9
_LARGEST: Final = 2**63 - 1
_NOT_REPRESENTABLE: Final = "capacity request cannot be represented in the device's range arithmetic"
_NEGATIVE: Final = "capacity value is negative"


class CapacityError(InvalidObjectError):
    """A request for capacity that cannot be counted, on this or any other device."""


def fits_capacity(
    wanted: CapacityRequirements | None,
    capacity: Mapping[str, DeviceCapacity],
    *consumed: Amounts,
    features: DeviceFeatures,
) -> bool:
    """Whether a request fits beside what is consumed already (CmpRequestOverCapacity)."""
    requests = wanted.requests if wanted is not None else {}
    if not requests.keys() <= capacity.keys():
        return False
    amounts = consumption(wanted, capacity, features)
    for name, offered in capacity.items():
        amount = amounts[name]
        if _violates(amount, offered.request_policy, features):
            return False
        if amount.nanos + sum(of_others.get(name, 0) for of_others in consumed) > offered.value.nanos:
            return False
    return True


def consumption(
    wanted: CapacityRequirements | None, capacity: Mapping[str, DeviceCapacity], features: DeviceFeatures
) -> dict[str, Quantity]:
    """What a request consumes of a shared device, rounded as the device's policy says."""
    requests = wanted.requests if wanted is not None else {}
    amounts = {}
    for name, offered in capacity.items():
        try:
            amounts[name] = _consumption(requests.get(name), offered, features)
        except CapacityError as error:
            raise CapacityError(f'capacity "{name}": {error.problem}') from None
        if features.capacity_errors_are_fatal and amounts[name].nanos < 0:
            raise CapacityError(f'capacity "{name}": {_NEGATIVE}')
    return amounts


def _consumption(wanted: Quantity | None, offered: DeviceCapacity, features: DeviceFeatures) -> Quantity:
    policy = offered.request_policy
    if wanted is None:
        return policy.default if policy is not None and policy.default is not None else offered.value
    if policy is None:
        return wanted
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(wanted, policy.valid_range, features)
    return next((valid for valid in policy.valid_values if wanted <= valid), wanted)


def _rounded_up(wanted: Quantity, valid: CapacityRequestPolicyRange, features: DeviceFeatures) -> Quantity:
    assert valid.min is not None
    if wanted < valid.min:
        return valid.min
    if valid.step is None or not valid.step.value():
        return wanted
    in_millis = _counts_in_millis(valid, features)
    if in_millis and wanted.nanos % _NANOS_PER_MILLI:
        raise CapacityError(f"{_NOT_REPRESENTABLE}: request {wanted} is not a representable milli value")
    if not in_millis and features.capacity_errors_are_fatal and wanted.nanos > _LARGEST * _NANOS_PER_UNIT:
        raise CapacityError(f"{_NOT_REPRESENTABLE}: request {wanted} exceeds MaxInt64")
    amount, smallest, step = (q.milli_value() if in_millis else q.value() for q in (wanted, valid.min, valid.step))
    rounded = smallest - (smallest - amount) // step * step
    if features.capacity_errors_are_fatal and rounded > _LARGEST:
        limit = "the milli-value range" if in_millis else "MaxInt64"
        raise CapacityError(f"{_NOT_REPRESENTABLE}: rounding request {wanted} up to the next step passes {limit}")
    notation = valid.step.number_format if features.capacity_errors_are_fatal else "BinarySI"
    if in_millis and rounded % 1000:
        return Quantity.of_milli(rounded, notation)
    return Quantity.of(rounded // 1000 if in_millis else rounded, notation)


def _counts_in_millis(valid: CapacityRequestPolicyRange, features: DeviceFeatures) -> bool:
    """Whether a range is reckoned in thousandths: if all its numbers are whole thousandths (useMilli)."""
    numbers = [number for number in (valid.min, valid.max, valid.step) if number is not None]
    return features.fractional_capacity and all(
        number.nanos % _NANOS_PER_MILLI == 0 and number.milli_value() <= _LARGEST for number in numbers
    )


def _violates(amount: Quantity, policy: CapacityRequestPolicy | None, features: DeviceFeatures) -> bool:
    if policy is None or (policy.default is not None and amount == policy.default):
        return False
    if policy.valid_range is not None:
        return _outside(amount, policy.valid_range, features)
    return bool(policy.valid_values) and amount not in policy.valid_values


def _outside(amount: Quantity, valid: CapacityRequestPolicyRange, features: DeviceFeatures) -> bool:
    if valid.max is not None and amount > valid.max:
        return True
    if valid.step is None or not valid.step.value():
        return False
    smallest = valid.min or Quantity.ZERO
    if _counts_in_millis(valid, features):
        return bool(
            amount.nanos % _NANOS_PER_MILLI
            or (amount.milli_value() - smallest.milli_value()) % valid.step.milli_value()
        )
    return (amount.value() - smallest.value()) % valid.step.value() != 0
