"""Pools of devices as one node sees them (structured.GatherPools)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kubesched.objects import ResourceSlice
from kubesched.objects.dra import CounterSet
from kubesched.scheduler.plugins.support.devices.claim_tracker import PoolId, PoolUsage
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKind, DeviceKinds

CounterAmounts = Mapping[str, Mapping[str, int]]
"""By counter set and counter, in nanos."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolDevice:
    name: str
    kind: DeviceKind
    resource_slice: ResourceSlice
    """The slice that offers it: it says on which nodes."""
    is_here: bool = True
    """False: its slice has others that the node can use, but not this one. Selectors are asked about it all the same,
    and may fail (isSelectable)."""


@dataclass(frozen=True, slots=True)
class PoolState:
    """What is taken of a pool. Equal states of pools of equal shape leave the same choices.

    in_use    bit k: device k belongs to another claim
    consumed  (k, amounts): shared device k has been given to somebody, and how much of it
    counters  (counter set, counter, amount) that is left
    """

    in_use: int = 0
    consumed: tuple[tuple[int, tuple[tuple[str, int], ...]], ...] = ()
    counters: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Pool:
    """The devices of a pool in the slices that a node looks at, in the order in which they are tried."""

    id: PoolId
    devices: tuple[PoolDevice, ...] = ()
    elsewhere: tuple[PoolDevice, ...] = ()
    """Devices in its other slices that consume its counters."""
    counters: CounterAmounts | None = None
    needs_preparation: bool = False
    """Whether some device in its slices must get ready before a pod that has it is bound."""
    is_incomplete: bool = False
    is_invalid: bool = False

    @cached_property
    def sort_key(self) -> tuple[bool, str, str]:
        """Pools are tried by name, those that need preparation last."""
        return (self.needs_preparation, *self.id)

    @cached_property
    def shape(self) -> tuple[object, ...]:
        """What matters about a pool besides its state and all names."""
        kinds = tuple((device.kind.number, device.is_here) for device in self.devices)
        return (self.id[0], kinds, self.is_incomplete, self.is_invalid)

    @property
    def is_irrelevant(self) -> bool:
        """There is nothing to take here, and that is no reason to wait either."""
        return not (self.devices or self.is_incomplete or self.is_invalid)

    def state(self, usage: PoolUsage, *, shares_are_in_use: bool) -> PoolState:
        """`shares_are_in_use`: SHARED_DEVICES_ARE_IN_USE, also where they take no capacity."""
        if not (usage.owners or usage.shares or self.counters):
            return UNTOUCHED
        in_use = sum(1 << k for k, device in enumerate(self.devices) if device.name in usage.owners)
        consumed = tuple(
            (k, tuple(sorted(usage.capacity.get(device.name, {}).items())))
            for k, device in enumerate(self.devices)
            if device.name in usage.capacity or (shares_are_in_use and device.name in usage.shares)
        )
        return PoolState(in_use, consumed, self._counters_left(usage))

    def _counters_left(self, usage: PoolUsage) -> tuple[tuple[str, str, int], ...]:
        if not self.counters:
            return ()
        left = {(group, name): amount for group, names in self.counters.items() for name, amount in names.items()}
        for device in (*self.devices, *self.elsewhere):
            if device.kind.consumes and (device.name in usage.owners or device.name in usage.shares):
                for group, name, amount in device.kind.consumes:
                    if (group, name) in left:
                        left[group, name] -= amount
        return tuple((group, name, amount) for (group, name), amount in left.items())


UNTOUCHED: Final = PoolState()


@dataclass(frozen=True, slots=True)
class RelevantSlice:
    """A slice that a node looks at, and which of its devices the node can use (None: all)."""

    resource_slice: ResourceSlice
    usable: frozenset[int] | None = None


def build_pool(
    pool_id: PoolId,
    relevant: Iterable[RelevantSlice],
    all_slices: Sequence[ResourceSlice],
    kinds: DeviceKinds,
    *,
    partitions: bool,
) -> Pool | None:
    """The pool as a node with these relevant slices sees it; None if it is being replaced by something newer.

    `partitions` is the gate DRAPartitionableDevices.
    """
    current = _newest(relevant)
    generation = current[0].resource_slice.spec.pool.generation
    whole = [entry.resource_slice for entry in current]
    expected = whole[0].spec.pool.resource_slice_count
    if len(whole) != expected:  # the others are of nodes elsewhere, or not published yet
        if any(slice_.spec.pool.generation > generation for slice_ in all_slices):
            return None
        whole = [slice_ for slice_ in all_slices if slice_.spec.pool.generation == generation]
        if len(whole) != expected:
            return Pool(pool_id, is_incomplete=True)
    current.sort(key=lambda entry: entry.resource_slice.metadata.name)
    offering = [entry for entry in current if not (partitions and entry.resource_slice.spec.shared_counters)]
    names = [device.name for entry in offering for device in entry.resource_slice.spec.devices]
    if len(names) != len(set(names)):
        return Pool(pool_id, is_invalid=True)
    devices = tuple(_devices(offering, kinds))
    prepares = any(device.binding_conditions for entry in offering for device in entry.resource_slice.spec.devices)
    if not partitions:
        return Pool(pool_id, devices, needs_preparation=prepares)
    here = {entry.resource_slice.metadata.name for entry in current}
    others = [slice_ for slice_ in whole if slice_.metadata.name not in here]
    all_current = (*(entry.resource_slice for entry in current), *others)
    counters = _counters(set_ for slice_ in all_current for set_ in slice_.spec.shared_counters)
    if counters is None or not _consume_what_exists(all_current, counters):
        return Pool(pool_id, is_invalid=True)
    elsewhere = tuple(_consumers(others, kinds, driver=pool_id[0]))
    return Pool(pool_id, devices, elsewhere, counters, needs_preparation=prepares)


def _newest(relevant: Iterable[RelevantSlice]) -> list[RelevantSlice]:
    """The slices of the highest generation, in their order."""
    entries = list(relevant)
    generation = max(entry.resource_slice.spec.pool.generation for entry in entries)
    return [entry for entry in entries if entry.resource_slice.spec.pool.generation == generation]


def _consumers(slices: Iterable[ResourceSlice], kinds: DeviceKinds, *, driver: str) -> Iterator[PoolDevice]:
    """Devices of other nodes that share counters with those of this one."""
    for slice_ in slices:
        for device in slice_.spec.devices:
            if device.consumes_counters:
                yield PoolDevice(device.name, kinds.of(driver, device), slice_)


def _devices(offering: Iterable[RelevantSlice], kinds: DeviceKinds) -> Iterator[PoolDevice]:
    for entry in offering:
        for k, device in enumerate(entry.resource_slice.spec.devices):
            is_here = entry.usable is None or k in entry.usable
            yield PoolDevice(
                device.name, kinds.of(entry.resource_slice.spec.driver, device), entry.resource_slice, is_here
            )


def _counters(sets: Iterable[CounterSet]) -> CounterAmounts | None:
    """None if a name is used twice."""
    counters: dict[str, Mapping[str, int]] = {}
    for counter_set in sets:
        if counter_set.name in counters:
            return None
        counters[counter_set.name] = {name: counter.value.nanos for name, counter in counter_set.counters.items()}
    return counters


def _consume_what_exists(slices: Iterable[ResourceSlice], counters: CounterAmounts) -> bool:
    return all(
        taken.counter_set in counters and taken.counters.keys() <= counters[taken.counter_set].keys()
        for slice_ in slices
        for device in slice_.spec.devices
        for taken in device.consumes_counters
    )
