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
from kubesched.scheduler.columns import Integers, JournalReader, NodeView
from kubesched.scheduler.columns.node_matching import matching_selector
from kubesched.scheduler.framework import Handle
from kubesched.scheduler.plugins.support.devices.backing import BackingClasses
from kubesched.scheduler.plugins.support.devices.class_totals import ClassTotals, Part, Reached
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKind, DeviceKinds
from kubesched.scheduler.plugins.support.devices.ledger import Ledger
from kubesched.scheduler.plugins.support.devices.node_faces import NodeFaces
from kubesched.scheduler.plugins.support.devices.selection import Selectors, class_conditions
from kubesched.telemetry.logging import log

_EVERYWHERE: Final = slice(None)
_NOWHERE: Final = slice(0)


class DeviceTotals:
    """Kept by class, and brought up to date slice by slice, and pool by pool as devices are taken and given back."""

    def __init__(self, handle: Handle) -> None:
        self._cluster = handle.cluster
        self._slices = handle.objects.of(ResourceSlice)
        self._backing = BackingClasses(handle.objects.of(DeviceClass))
        self._ledger = Ledger.shared(handle.objects, counts_shares=handle.gates.enabled("DRAConsumableCapacity"))
        self._changed_slices = JournalReader(self._slices.changes)
        self._touched_pools = JournalReader(self._ledger.touched)
        self._faces = NodeFaces(self._cluster.nodes)
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
        """Changes whenever `stand_behind` may say something else."""
        return self._backing.version

    def stand_behind(self, resource: str) -> bool:
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
            for offer in self._slices:
                self._count(offer, totals)
        return totals.at(nodes.rows)

    def _refresh(self) -> None:
        changed, touched, nodes = self._changed_slices.news(), self._touched_pools.news(), self._faces.changed()
        if changed is None or touched is None or self._rows != self._cluster.nodes.capacity:
            self._rows = self._cluster.nodes.capacity
            self._kinds_by_slice.clear()
            self._by_class.clear()
            return
        stale = set(changed)
        for name in stale:
            self._kinds_by_slice.pop(name, None)
        if nodes:
            stale |= {offer.metadata.name for offer in self._slices if _looks_at(offer.spec, nodes)}
        for totals in self._by_class.values():
            for name in stale:
                totals.drop(name)
                if (offer := self._slices.get(name)) is not None:
                    self._count(offer, totals)
            totals.recount(set(touched), self._ledger)

    def _count(self, offer: ResourceSlice, totals: ClassTotals) -> None:
        parts = [self._part(offer, where, devices, totals.device_class) for where, devices in _parts(offer.spec)]
        totals.add(offer.metadata.name, (offer.spec.driver, offer.spec.pool.name), parts)

    def _part(
        self, offer: ResourceSlice, where: ResourceSliceSpec | Device, devices: Iterable[int], device_class: DeviceClass
    ) -> Part:
        rows: Reached = _EVERYWHERE
        try:
            rows = self._reached(where)
            names = self._names(offer, devices, device_class)
        except InvalidObjectError as error:
            log.error(
                "Failed to count devices", error, deviceClass=device_class.metadata.name, slice=offer.metadata.name
            )
            return Part(rows, is_judged=False)
        usage = self._ledger.usage((offer.spec.driver, offer.spec.pool.name))
        return Part(rows, names, taken=usage.count(names))

    def _reached(self, where: ResourceSliceSpec | Device) -> Reached:
        """The nodes that a slice or a device names. InvalidObjectError if its selector cannot be understood."""
        if where.all_nodes:
            return _EVERYWHERE
        if where.node_name:
            return self._cluster.nodes.row_of.get(where.node_name, _NOWHERE)
        if where.node_selector is not None:
            selector = compile_node_selector_strictly(where.node_selector)
            return np.flatnonzero(matching_selector(selector, self._cluster.view()))
        return _EVERYWHERE if isinstance(where, ResourceSliceSpec) else _NOWHERE

    def _names(self, offer: ResourceSlice, positions: Iterable[int], device_class: DeviceClass) -> list[str]:
        """Of the devices at these positions, those that the class selects. InvalidObjectError if it has no answer."""
        devices, conditions = offer.spec.devices, class_conditions(device_class)
        if not conditions:
            return [devices[k].name for k in positions]
        kinds = self._kinds_of(offer)
        return [devices[k].name for k in positions if self._selectors.select(conditions, kinds[k])]

    def _kinds_of(self, offer: ResourceSlice) -> list[DeviceKind]:
        """The kinds of a slice's devices by what conditions see here: not whether they can be shared."""
        known = self._kinds_by_slice.get(offer.metadata.name)
        if known is None:
            known = self._kinds_by_slice[offer.metadata.name] = [
                self._kinds.of(offer.spec.driver, Device(attributes=device.attributes, capacity=device.capacity))
                for device in offer.spec.devices
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
    """Whether another face of one of these nodes may matter to a slice."""
    return spec.node_name in nodes or spec.node_selector is not None or bool(spec.per_device_node_selection)
