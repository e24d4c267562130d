"""Constraints between the devices of a claim: they must share an attribute's value, or all differ in it.

Constraints know lists of values since Kubernetes 1.37, with DRAListTypeAttributes: kube-scheduler v1.36.4 does not hand
that gate to its allocator (AllocatorFeatures), only to CEL.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from kubesched.errors import InvalidObjectError
from kubesched.objects import ResourceClaim
from kubesched.objects.dra import DeviceAttribute, DeviceConstraint
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKind

_Value = tuple[str, object]


class Constraint(Protocol):
    """Every successful `add` is undone by a `remove` with the same arguments, in reverse order."""

    def add(self, request: str, sub_request: str, kind: DeviceKind) -> bool:
        """Take a device into account; False, and nothing is changed, if that breaks the constraint."""
        ...

    def remove(self, request: str, sub_request: str, kind: DeviceKind) -> None: ...

    def state(self, request: str) -> Hashable:
        """Equal states allow the same devices for the request and those after it."""
        ...

    def allows(self, request: str, sub_request: str, kind: DeviceKind) -> bool:
        """False only if `add` would fail now, and as long as the devices stay that were added so far."""
        ...


class _AttributeConstraint:
    """What both kinds share: which requests they are about, and that each device must have the attribute.

    A value of None is of a type that constraints do not know.
    """

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._devices = 0

    def add(self, request: str, sub_request: str, kind: DeviceKind) -> bool:
        if not self._concerns(request, sub_request):
            return True
        attribute = _lookup(kind, self._attribute)
        if attribute is None or not self._add(request, self._read(attribute)):
            return False
        self._devices += 1
        return True

    def remove(self, request: str, sub_request: str, kind: DeviceKind) -> None:
        if self._concerns(request, sub_request):
            self._remove(request)
            self._devices -= 1

    def allows(self, request: str, sub_request: str, kind: DeviceKind) -> bool:
        if not self._concerns(request, sub_request):
            return True
        attribute = _lookup(kind, self._attribute)
        return attribute is not None and self._allows(self._read(attribute))

    def _read(self, attribute: DeviceAttribute) -> Any:
        return _value_of(attribute)

    def _concerns(self, request: str, sub_request: str) -> bool:
        if not self._requests or request in self._requests:
            return True
        return bool(sub_request) and f"{request}/{sub_request}" in self._requests

    def _add(self, request: str, value: Any) -> bool:
        raise NotImplementedError

    def _remove(self, request: str) -> None:
        raise NotImplementedError

    def _allows(self, value: Any) -> bool:
        raise NotImplementedError


class MatchAttribute(_AttributeConstraint):
    """All devices have the same value as the first one."""

    _value: _Value | None = None

    def state(self, request: str) -> Hashable:
        return (self._value,) if self._devices else None

    def _add(self, request: str, value: _Value | None) -> bool:
        if not self._devices:
            self._value = value
            return True
        return value is not None and value == self._value

    def _remove(self, request: str) -> None:
        """The value is that of the first device: it counts while there are devices."""

    def _allows(self, value: _Value | None) -> bool:
        return not self._devices or (self._value is not None and value == self._value)


class DistinctAttribute(_AttributeConstraint):
    """No two devices have the same value."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: list[_Value | None] = []

    def state(self, request: str) -> Hashable:
        return frozenset(self._values)

    def _add(self, request: str, value: _Value | None) -> bool:
        if not self._allows(value):
            return False
        self._values.append(value)
        return True

    def _remove(self, request: str) -> None:
        self._values.pop()

    def _allows(self, value: _Value | None) -> bool:
        return not self._values or (value is not None and value not in self._values)


class DistinctAttributePerRequest(_AttributeConstraint):
    """No device has the value of another request's device: the rule before EVERY_DEVICE_IS_DISTINCT.

    Upstream remembered one value per request (distinctAttributeConstraint.attributes): of several devices for one
    request, only the last one counted for those that follow.
    """

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: dict[str, _Value | None] = {}

    def state(self, request: str) -> Hashable:
        others = frozenset(value for name, value in self._values.items() if name != request)
        return others, self._values.get(request), request in self._values, self._devices > 0

    def _add(self, request: str, value: _Value | None) -> bool:
        if self._devices and self._values and (value is None or value in self._values.values()):
            return False
        self._values[request] = value
        return True

    def _remove(self, request: str) -> None:
        self._values.pop(request, None)

    def _allows(self, value: _Value | None) -> bool:
        # That of the last request may still be replaced by its next device.
        return value not in list(self._values.values())[:-1]


class _ListConstraint(_AttributeConstraint):
    """An attribute has a set of values, one or many."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._stack: list[frozenset[_Value]] = []

    def _read(self, attribute: DeviceAttribute) -> frozenset[_Value] | None:
        return _values_of(attribute)

    def state(self, request: str) -> Hashable:
        return self._stack[-1] if self._stack else None

    def _remove(self, request: str) -> None:
        self._stack.pop()


class CommonValue(_ListConstraint):
    """There is a value that all devices have."""

    def _add(self, request: str, values: frozenset[_Value] | None) -> bool:
        if values is None or not self._allows(values):
            return False
        self._stack.append(self._stack[-1] & values if self._stack else values)
        return True

    def _allows(self, values: frozenset[_Value] | None) -> bool:
        return values is not None and (not self._stack or bool(self._stack[-1] & values))


class DisjointValues(_ListConstraint):
    """No two devices have a value in common."""

    def _add(self, request: str, values: frozenset[_Value] | None) -> bool:
        if values is None or not self._allows(values):
            return False
        self._stack.append(self._stack[-1] | values if self._stack else values)
        return True

    def _allows(self, values: frozenset[_Value] | None) -> bool:
        return values is not None and (not self._stack or not self._stack[-1] & values)


def constraints_of(claim: ResourceClaim, features: DeviceFeatures) -> list[Constraint]:
    """InvalidObjectError for a constraint that says nothing."""
    return [_constraint(claim, k, source, features) for k, source in enumerate(claim.spec.devices.constraints)]


def _constraint(claim: ResourceClaim, position: int, source: DeviceConstraint, features: DeviceFeatures) -> Constraint:
    if source.match_attribute is not None:
        return (CommonValue if features.list_constraints else MatchAttribute)(source.requests, source.match_attribute)
    if source.distinct_attribute is not None and features.list_constraints:
        return DisjointValues(source.requests, source.distinct_attribute)
    if source.distinct_attribute is not None:
        kind = DistinctAttribute if features.every_device_is_distinct else DistinctAttributePerRequest
        return kind(source.requests, source.distinct_attribute)
    raise InvalidObjectError(
        f"claim {claim.metadata.key}, constraint #{position}: empty constraint (unsupported constraint type?)"
    )


def _lookup(kind: DeviceKind, name: str) -> DeviceAttribute | None:
    """By its full name, or without the domain if that is the driver (lookupAttribute)."""
    attributes = kind.device.attributes
    found = attributes.get(name)
    if found is not None:
        return found
    domain, slash, identifier = name.partition("/")
    return attributes.get(identifier) if slash and domain == kind.driver else None


def _value_of(attribute: DeviceAttribute) -> _Value | None:
    """With its type: the number 1 and the string "1" differ. None for a type that constraints do not know."""
    if attribute.string_value is not None:
        return "string", attribute.string_value
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.version_value is not None:
        return "version", attribute.version_value
    return None


def _values_of(attribute: DeviceAttribute) -> frozenset[_Value] | None:
    """All values, with their type; None for a type that constraints do not know (attributeAsSet)."""
    lists = (
        ("int", attribute.int_values),
        ("bool", attribute.bool_values),
        ("string", attribute.string_values),
        ("version", attribute.version_values),
    )
    for kind, values in lists:
        if values:
            return frozenset((kind, value) for value in values)
    value = _value_of(attribute)
    return None if value is None else frozenset((value,))
