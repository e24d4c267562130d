"""How many devices of a class each node has, and how many of them are taken: the scores of resources count that.

It is not what could be allocated: slices of outdated and incomplete pools count, tainted devices count, and a slice
that says of no node that it is for it counts on all of them (calculateDRAResourceTotals).

Not taken over from kube-scheduler v1.36.4: it goes on counting what it matched once, whatever becomes of the device or
the node's labels (deviceMatchCache, nodeMatchCache), and it crashes when NodeResourcesBalancedAllocation scores
devices of a class with selectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import numpy as np

from kubesched.errors import InvalidObjectError
from kubesched.objects import DeviceClass, ResourceSlice
from kubesched.objects.dra import Device, ResourceSliceSpec
from kubesched.objects.node_selectors import compile_node_selector_strictly
from kubesched.objects.resource_names import is_dra_extended_resource
from kubesched.scheduler.columns import EVERYTHING, Follower, Integers, NodeView
from kubesched.scheduler.columns.node_matching import matching_selector
from kubesched.scheduler.framework import Handle
from kubesched.scheduler.plugins.support.devices.backing import BackingClasses
from kubesched.scheduler.plugins.support.devices.budget import MOST_SECONDS_AT_ONCE, Budget, BudgetSpent
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker
from kubesched.scheduler.plugins.support.devices.class_totals import ClassTotals, MatchingRows, Part
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKind, DeviceKinds
from kubesched.scheduler.plugins.support.devices.node_label_changes import NodeLabelChanges
from kubesched.scheduler.plugins.support.devices.selection import Selectors, class_conditions
from kubesched.telemetry.logging import log

_EVERYWHERE: Final = slice(None)
_NOWHERE: Final = slice(0)


class DeviceTotals:
    """Kept by class, and brought up to date slice by slice, and pool by pool as devices are taken and given back."""

    def __init__(self, handle: Handle) -> None:
        self._clock = handle.clock
        self._cluster = handle.cluster
        self._slices = handle.objects.of(ResourceSlice)
        self._backing = BackingClasses(handle.objects.of(DeviceClass))
        self._tracker = ClaimTracker.shared(handle.objects, counts_shares=handle.gates.enabled("DRAConsumableCapacity"))
        self._changed_slices = Follower(self._slices.changes)
        self._touched_pools = Follower(self._tracker.touched)
        self._node_labels = NodeLabelChanges(self._cluster.nodes)
        lists = handle.gates.enabled("DRAListTypeAttributes")
        self._selectors = Selectors(lists=lists)
        self._kinds = DeviceKinds(lists=lists)
        self._kinds_by_slice: dict[str, list[DeviceKind]] = {}
        self._by_class: dict[str, ClassTotals] = {}
        self._rows = 0

    @classmethod
    def shared(cls, handle: Handle) -> DeviceTotals:
        """Those of all plugins and profiles."""
        return handle.objects.derived(cls, lambda: cls(handle))

    @property
    def classes_version(self) -> int:
        """Changes whenever `is_backed_by_devices` may say something else."""
        return self._backing.version

    def is_backed_by_devices(self, resource: str) -> bool:
        """Whether the resource means devices of a class, on nodes that have none of it themselves."""
        return is_dra_extended_resource(resource) and resource in self._backing

    def of(self, resource: str, nodes: NodeView) -> tuple[Integers, Integers]:
        """Per node: the devices that stand behind the resource, and how many of them are taken."""
        device_class = self._backing.of(resource)
        assert device_class is not None, "only for resources that devices stand behind"
        self._refresh()
        totals = self._by_class.get(device_class.metadata.name)
        if totals is None or totals.device_class is not device_class:
            totals = self._by_class[device_class.metadata.name] = ClassTotals(device_class, self._rows)
            for slice_ in self._slices:
                self._count(slice_, totals)
        return totals.at(nodes.rows)

    def _refresh(self) -> None:
        changed, touched = self._changed_slices.changed(), self._touched_pools.changed()
        nodes = self._node_labels.changed()
        if changed is EVERYTHING or touched is EVERYTHING or self._rows != self._cluster.nodes.capacity:
            self._rows = self._cluster.nodes.capacity
            self._kinds_by_slice.clear()
            self._by_class.clear()
            return
        stale = set(changed)
        for name in stale:
            self._kinds_by_slice.pop(name, None)
        if nodes:
            stale |= {slice_.metadata.name for slice_ in self._slices if _looks_at(slice_.spec, nodes)}
        for totals in self._by_class.values():
            for name in stale:
                totals.drop(name)
                if (slice_ := self._slices.get(name)) is not None:
                    self._count(slice_, totals)
            totals.recount(set(touched), self._tracker)

    def _count(self, slice_: ResourceSlice, totals: ClassTotals) -> None:
        parts = [self._part(slice_, where, devices, totals.device_class) for where, devices in _parts(slice_.spec)]
        totals.add(slice_.metadata.name, (slice_.spec.driver, slice_.spec.pool.name), parts)

    def _part(
        self,
        slice_: ResourceSlice,
        where: ResourceSliceSpec | Device,
        devices: Iterable[int],
        device_class: DeviceClass,
    ) -> Part:
        rows: MatchingRows = _EVERYWHERE
        try:
            rows = self._matching_rows(where)
            names = self._names(slice_, devices, device_class)
        except (InvalidObjectError, BudgetSpent) as error:
            log.error(
                "Failed to count devices", error, deviceClass=device_class.metadata.name, slice=slice_.metadata.name
            )
            return Part(rows, is_judged=False)
        usage = self._tracker.usage((slice_.spec.driver, slice_.spec.pool.name))
        return Part(rows, names, taken=usage.count(names))

    def _matching_rows(self, where: ResourceSliceSpec | Device) -> MatchingRows:
        """The nodes that a slice or a device names. InvalidObjectError if its selector cannot be understood."""
        if where.all_nodes:
            return _EVERYWHERE
        if where.node_name:
            return self._cluster.nodes.row_of.get(where.node_name, _NOWHERE)
        if where.node_selector is not None:
            selector = compile_node_selector_strictly(where.node_selector)
            return np.flatnonzero(matching_selector(selector, self._cluster.view()))
        return _EVERYWHERE if isinstance(where, ResourceSliceSpec) else _NOWHERE

    def _names(self, slice_: ResourceSlice, positions: Iterable[int], device_class: DeviceClass) -> list[str]:
        """Of the devices at these positions, those that the class selects.

        InvalidObjectError if it has no answer, BudgetSpent if that takes too long.
        """
        devices, conditions = slice_.spec.devices, class_conditions(device_class)
        if not conditions:
            return [devices[k].name for k in positions]
        kinds = self._kinds_of(slice_)
        budget = Budget(self._clock, MOST_SECONDS_AT_ONCE)
        return [devices[k].name for k in positions if self._selectors.select(conditions, kinds[k], budget)]

    def _kinds_of(self, slice_: ResourceSlice) -> list[DeviceKind]:
        """The kinds of a slice's devices by what conditions see here: not whether they can be shared."""
        known = self._kinds_by_slice.get(slice_.metadata.name)
        if known is None:
            known = self._kinds_by_slice[slice_.metadata.name] = [
                self._kinds.of(slice_.spec.driver, Device(attributes=device.attributes, capacity=device.capacity))
                for device in slice_.spec.devices
            ]
        return known


def _parts(spec: ResourceSliceSpec) -> Iterator[tuple[ResourceSliceSpec | Device, Iterable[int]]]:
    """What says which nodes can use devices of a slice, and the positions of the devices that it speaks of."""
    if spec.per_device_node_selection:
        for k, device in enumerate(spec.devices):
            yield device, (k,)
    else:
        yield spec, range(len(spec.devices))


def _looks_at(spec: ResourceSliceSpec, nodes: Collection[str]) -> bool:
    """Whether other labels of one of these nodes may matter to a slice."""
    return spec.node_name in nodes or spec.node_selector is not None or bool(spec.per_device_node_selection)
