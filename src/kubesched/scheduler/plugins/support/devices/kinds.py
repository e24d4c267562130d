"""Kinds of devices: what makes devices as good as each other."""

from __future__ import annotations

import weakref
from itertools import count

from kubesched.objects import encode
from kubesched.objects.dra import Device
from kubesched.scheduler.plugins.support.devices.cel import DeviceFacts


class DeviceKind:
    """Everything about a device but its name: devices of one kind are as good as each other, wherever they are."""

    __slots__ = ("__weakref__", "consumes", "device", "driver", "facts", "number", "selected")

    def __init__(self, number: int, driver: str, device: Device, *, lists: bool) -> None:
        self.number = number
        self.driver = driver
        self.device = device
        """A device of this kind; its name means nothing."""
        self.facts = DeviceFacts(
            driver, device.attributes, device.capacity, device.allow_multiple_allocations or False, lists=lists
        )
        self.consumes: tuple[tuple[str, str, int], ...] = tuple(
            (taken.counter_set, name, counter.value.nanos)
            for taken in device.consumes_counters
            for name, counter in taken.counters.items()
        )
        self.selected: dict[str, bool | str] = {}
        """By CEL expression: whether it selects devices of this kind, or what the problem is."""


class DeviceKinds:
    """Interns kinds: equal devices share one for as long as somebody holds it."""

    def __init__(self, *, lists: bool = False) -> None:
        """`lists`: whether conditions understand list attributes (gate DRAListTypeAttributes)."""
        self._lists = lists
        self._known: weakref.WeakValueDictionary[bytes, DeviceKind] = weakref.WeakValueDictionary()
        self._numbers = count()

    def of(self, driver: str, device: Device) -> DeviceKind:
        key = encode(
            (
                driver,
                device.attributes,
                device.capacity,
                device.consumes_counters,
                device.node_name,
                device.node_selector,
                device.all_nodes,
                device.taints,
                device.binds_to_node,
                device.binding_conditions,
                device.binding_failure_conditions,
                device.allow_multiple_allocations,
                device.node_allocatable_resource_mappings,
            )
        )
        kind = self._known.get(key)
        if kind is None:
            kind = self._known[key] = DeviceKind(next(self._numbers), driver, device, lists=self._lists)
        return kind
