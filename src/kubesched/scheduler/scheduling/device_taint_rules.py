"""Rules that taint devices: plugins see resource slices with the taints of all rules added (resourceslice.Tracker)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kubesched.objects import DeviceTaintRule, ResourceSlice
from kubesched.objects.dra import Device, DeviceTaint
from kubesched.scheduler.framework import ObjectStores


class TaintedSlices:
    """Knows the slices as their drivers wrote them. The stores hold the rules, and the slices with their taints."""

    def __init__(self, objects: ObjectStores, *, need_selector: bool = True) -> None:
        """`need_selector` is RULES_NEED_A_SELECTOR."""
        self._need_selector = need_selector
        self._rules = objects.of(DeviceTaintRule)
        self._tainted = objects.of(ResourceSlice)
        self._written: dict[str, ResourceSlice] = {}

    def change(self, old: ResourceSlice | None, new: ResourceSlice) -> tuple[ResourceSlice | None, ResourceSlice]:
        """The same change of a slice as plugins are to see it."""
        name = new.metadata.name
        self._written[name] = new
        return self._tainted.get(name) if old is not None else None, self._with_taints(new)

    def forget(self, gone: ResourceSlice) -> None:
        self._written.pop(gone.metadata.name, None)

    def retainted(self, *changed: DeviceTaintRule | None) -> Iterator[tuple[ResourceSlice, ResourceSlice]]:
        """The slices that plugins are to see in another way, now that these rules came, changed or went."""
        rules = [rule for rule in changed if rule is not None]
        for name, written in self._written.items():
            if any(self._selects_some_of(rule, written) for rule in rules):
                before, now = self._tainted.get(name), self._with_taints(written)
                if before is not None and before.spec.devices != now.spec.devices:
                    yield before, now

    def _with_taints(self, written: ResourceSlice) -> ResourceSlice:
        """The slice's own taints come first, then those of the rules, in the order in which the rules were found."""
        rules = [rule for rule in self._rules if self._selects_some_of(rule, written)]
        if not rules:
            return written
        devices = tuple(_device_with_taints(device, rules) for device in written.spec.devices)
        return replace(written, spec=replace(written.spec, devices=devices))

    def _selects_some_of(self, rule: DeviceTaintRule, offer: ResourceSlice) -> bool:
        """Whether a rule may be about devices of a slice."""
        selector = rule.spec.device_selector
        if selector is None:
            return not self._need_selector
        return selector.driver in (None, offer.spec.driver) and selector.pool in (None, offer.spec.pool.name)


def _device_with_taints(device: Device, rules: list[DeviceTaintRule]) -> Device:
    added: list[DeviceTaint] = [rule.spec.taint for rule in rules if _names(rule, device)]
    return replace(device, taints=(*device.taints, *added)) if added else device


def _names(rule: DeviceTaintRule, device: Device) -> bool:
    selector = rule.spec.device_selector
    return selector is None or selector.device in (None, device.name)
