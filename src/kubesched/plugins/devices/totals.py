"""How many devices of a class each node has, and how many of them are taken: the scores of resources count that.

It is not what could be allocated: slices of outdated and incomplete pools count, tainted devices count, and a slice
that says of no node that it is for it counts on all of them (calculateDRAResourceTotals).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from kubesched.columns import Integers, JournalReader, NodeView, Rows
from kubesched.columns.node_matching import matching_selector
from kubesched.errors import InvalidObjectError
from kubesched.framework import Handle
from kubesched.objects import Device, DeviceClass, ResourceSlice, ResourceSliceSpec
from kubesched.objects.node_selectors import compile_node_selector_strictly
from kubesched.objects.resource_names import is_dra_extended_resource
from kubesched.plugins.devices.backing import BackingClasses
from kubesched.plugins.devices.kinds import DeviceKind, DeviceKinds
from kubesched.plugins.devices.ledger import Ledger, PoolId
from kubesched.plugins.devices.selection import Condition, Selectors, class_conditions
from kubesched.telemetry.logging import log

Reached: TypeAlias = Rows | int
"""Rows of the node table, each once."""
_EVERYWHERE: Final = slice(None)
_NOWHERE: Final = slice(0)


@dataclass(slots=True)
class Part:
    """Devices of one slice that the same nodes reach."""

    rows: Reached
    names: Sequence[str]
    taken: int = 0


class ClassTotals:
    """The devices of one class, counted by row of the node table; where one cannot be judged, none count."""

    def __init__(self, rows: int) -> None:
        self.devices: Integers = np.zeros(rows, dtype=np.int64)
        self.taken: Integers = np.zeros(rows, dtype=np.int64)
        self._parts: dict[PoolId, list[Part]] = {}
        self._failed: list[Reached] = []

    @property
    def pools(self) -> Iterable[PoolId]:
        return self._parts

    def fail(self, rows: Reached) -> None:
        self._failed.append(rows)

    def add(self, pool: PoolId, part: Part) -> None:
        self.devices[part.rows] += len(part.names)
        self._parts.setdefault(pool, []).append(part)

    def recount(self, pools: Iterable[PoolId], ledger: Ledger) -> None:
        """Devices of these pools were taken or given back."""
        for pool in pools:
            usage = ledger.usage(pool)
            for part in self._parts.get(pool, ()):
                taken = sum([usage.has(name) for name in part.names])
                if taken != part.taken:
                    self.taken[part.rows] += taken - part.taken
                    part.taken = taken
        for rows in self._failed:
            self.devices[rows] = self.taken[rows] = 0


class DeviceTotals:
    """Counts the devices of a pool again when one was taken or given back, and everything after other changes."""

    def __init__(self, handle: Handle) -> None:
        self._cluster = handle.cluster
        self._slices = handle.objects.of(ResourceSlice)
        self._backing = BackingClasses(handle.objects.of(DeviceClass))
        self._ledger = Ledger.shared(handle.objects, counts_shares=handle.gates.enabled("DRAConsumableCapacity"))
        self._touched = JournalReader(self._ledger.touched)
        self._selectors = Selectors()
        self._kinds = DeviceKinds()
        self._kinds_by_slice: dict[str, tuple[ResourceSlice, list[DeviceKind]]] = {}
        self._by_class: dict[str, ClassTotals] = {}
        self._situation: object = None

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
        totals = self._of_class(device_class)
        return totals.devices[nodes.rows], totals.taken[nodes.rows]

    def _of_class(self, device_class: DeviceClass) -> ClassTotals:
        self._refresh()
        name = device_class.metadata.name
        totals = self._by_class.get(name)
        if totals is None:
            totals = self._by_class[name] = self._count(device_class)
        return totals

    def _refresh(self) -> None:
        table = self._cluster.nodes
        situation = (self._slices.version, self._backing.version, table.node_changes.position, table.capacity)
        touched = self._touched.news()
        if touched is None or situation != self._situation:
            self._situation = situation
            self._by_class.clear()
            known, slices = self._kinds_by_slice, self._slices
            self._kinds_by_slice = {name: entry for name, entry in known.items() if slices.get(name) is entry[0]}
        elif touched:
            for totals in self._by_class.values():
                totals.recount(set(touched), self._ledger)

    def _count(self, device_class: DeviceClass) -> ClassTotals:
        totals = ClassTotals(self._cluster.nodes.capacity)
        conditions = class_conditions(device_class)
        problem: InvalidObjectError | None = None
        for offer in self._slices:
            pool = (offer.spec.driver, offer.spec.pool.name)
            for where, positions in _parts(offer.spec):
                rows: Reached = _EVERYWHERE
                try:
                    rows = self._rows(where)
                    totals.add(pool, Part(rows, self._names(offer, positions, conditions)))
                except InvalidObjectError as error:
                    totals.fail(rows)
                    problem = problem or error
        if problem is not None:
            log.error("Failed to count the devices of a class", problem, deviceClass=device_class.metadata.name)
        totals.recount(totals.pools, self._ledger)
        return totals

    def _rows(self, where: ResourceSliceSpec | Device) -> Reached:
        """The nodes that a slice or a device names. InvalidObjectError if its selector cannot be understood."""
        if where.all_nodes:
            return _EVERYWHERE
        if where.node_name:
            return self._cluster.nodes.row_of.get(where.node_name, _NOWHERE)
        if where.node_selector is not None:
            selector = compile_node_selector_strictly(where.node_selector)
            return np.flatnonzero(matching_selector(selector, self._cluster.view()))
        return _EVERYWHERE if isinstance(where, ResourceSliceSpec) else _NOWHERE

    def _names(self, offer: ResourceSlice, positions: Iterable[int], conditions: Sequence[Condition]) -> list[str]:
        """Of the devices at these positions, those that satisfy all conditions. InvalidObjectError as `select`."""
        devices = offer.spec.devices
        if not conditions:
            return [devices[k].name for k in positions]
        kinds = self._kinds_of(offer)
        return [devices[k].name for k in positions if self._selectors.select(conditions, kinds[k])]

    def _kinds_of(self, offer: ResourceSlice) -> list[DeviceKind]:
        """The kinds of a slice's devices by what conditions see here: not whether they can be shared."""
        known = self._kinds_by_slice.get(offer.metadata.name)
        if known is None:
            kinds = [
                self._kinds.of(offer.spec.driver, Device(attributes=device.attributes, capacity=device.capacity))
                for device in offer.spec.devices
            ]
            known = self._kinds_by_slice[offer.metadata.name] = (offer, kinds)
        return known[1]


def _parts(spec: ResourceSliceSpec) -> Iterator[tuple[ResourceSliceSpec | Device, Iterable[int]]]:
    """What says which nodes can use devices of a slice, and the positions of the devices that it speaks of."""
    if spec.per_device_node_selection:
        for k, device in enumerate(spec.devices):
            yield device, (k,)
    else:
        yield spec, range(len(spec.devices))
