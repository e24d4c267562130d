"""The resource slices, indexed by pool, by node and by which nodes they are for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubesched.objects import ResourceSlice
from kubesched.objects.affinity import NodeSelector
from kubesched.objects.node_selectors import NodeMatcher, compile_node_selector
from kubesched.scheduler.columns import Booleans, NodeView
from kubesched.scheduler.columns.node_matching import matching_selector
from kubesched.scheduler.framework import ObjectStore
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.scheduler.plugins.dynamic_resources.pools import Pool, RelevantSlice, build_pool
from kubesched.scheduler.plugins.support.devices.claim_tracker import PoolId
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKinds

_EVERY_DEVICE: Final = -1


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """Nodes that a shared slice (or one device of it) is for: all, one by name, or those that a selector matches."""

    resource_slice: ResourceSlice
    device: int
    everywhere: bool = False
    node_name: str = ""
    selector: NodeMatcher | None = None

    def matches(self, nodes: NodeView) -> Booleans:
        if self.selector is not None:
            return matching_selector(self.selector, nodes)
        matching = np.full(len(nodes), self.everywhere, dtype=np.bool_)
        if self.node_name and (position := nodes.position_of(self.node_name)) is not None:
            matching[position] = True
        return matching


class Inventory:
    """All resource slices. `touched_nodes` and `shared_version` say what to look at again."""

    def __init__(self, slices: ObjectStore[ResourceSlice], kinds: DeviceKinds, features: DeviceFeatures) -> None:
        self._features = features
        self._partitions = features.partitionable_devices
        self._by_pool: dict[PoolId, dict[str, ResourceSlice]] = {}
        self._local: dict[str, dict[str, ResourceSlice]] = {}
        self._shared: dict[str, tuple[NodeSelection, ...]] = {}
        self._touched_nodes: set[str] = set()
        self._pools: dict[PoolId, dict[object, Pool | None]] = {}
        self._kinds = kinds
        self.shared_version = 0
        """Changes whenever a slice that several nodes may use does, or a slice of the same pool."""
        slices.subscribe(self._changed)

    def touched_nodes(self) -> set[str]:
        """The nodes whose own slices changed since the last call, or a slice of a pool that they are part of."""
        touched, self._touched_nodes = self._touched_nodes, set()
        return touched

    def nodes_of(self, pool: PoolId) -> Iterable[str]:
        """Nodes with slices of their own in a pool."""
        return {name for slice_ in self._by_pool.get(pool, {}).values() if (name := self._own_node(slice_))}

    @property
    def node_selections(self) -> tuple[NodeSelection, ...]:
        """Of all slices that are not just for one node."""
        return tuple(selection for selections in self._shared.values() for selection in selections)

    @property
    def problem(self) -> str:
        """Why no pool can be gathered at all: a node selector that cannot be understood."""
        for selection in self.node_selections:
            if selection.selector is not None and (problem := selection.selector.problem):
                part = (
                    ""
                    if selection.device == _EVERY_DEVICE
                    else f"device {selection.resource_slice.spec.devices[selection.device].name} in "
                )
                return (
                    f"gather pool information: failed to perform node selection for {part}slice "
                    f"{selection.resource_slice.metadata.name}: failed to parse node selector: {problem}"
                )
        return ""

    def own_pools(self, node_name: str, shared: Sequence[RelevantSlice]) -> list[Pool]:
        """The pools in which a node has slices of its own, together with the shared ones of the same pools."""
        own: dict[PoolId, list[RelevantSlice]] = {}
        for slice_ in self._local.get(node_name, {}).values():
            own.setdefault(_pool_id(slice_), []).append(RelevantSlice(slice_))
        if shared and own:
            for entry in shared:
                if (pool_id := _pool_id(entry.resource_slice)) in own:
                    own[pool_id].append(entry)
        return self._built(own, node_name)

    def shared_pools(self, shared: Sequence[RelevantSlice]) -> list[Pool]:
        """The pools of slices that are not just for one node, as a node without slices of its own sees them."""
        pools: dict[PoolId, list[RelevantSlice]] = {}
        for entry in shared:
            pools.setdefault(_pool_id(entry.resource_slice), []).append(entry)
        return [pool for pool in self._built(pools, None) if not pool.is_irrelevant]

    def _built(self, relevant: dict[PoolId, list[RelevantSlice]], node_name: str | None) -> list[Pool]:
        pools = []
        for pool_id, entries in relevant.items():
            known = self._pools.setdefault(pool_id, {})
            key = (node_name, tuple((entry.resource_slice.metadata.name, entry.usable) for entry in entries))
            if key not in known:
                everything = list(self._by_pool[pool_id].values())
                known[key] = build_pool(pool_id, entries, everything, self._kinds, partitions=self._partitions)
            if (pool := known[key]) is not None:
                pools.append(pool)
        return pools

    def _changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        if old is not None and new is not None and old.spec == new.spec:
            return
        if old is not None:
            self._touch(_pool_id(old))
            self._drop(old)
        if new is not None:
            self._add(new)
            self._touch(_pool_id(new))

    def _add(self, slice_: ResourceSlice) -> None:
        if self._is_ignored(slice_):
            return
        name = slice_.metadata.name
        self._by_pool.setdefault(_pool_id(slice_), {})[name] = slice_
        if owner := self._own_node(slice_):
            self._local.setdefault(owner, {})[name] = slice_
        else:
            self._shared[name] = tuple(self._node_selections(slice_))

    def _drop(self, slice_: ResourceSlice) -> None:
        if self._is_ignored(slice_):
            return
        name, pool_id = slice_.metadata.name, _pool_id(slice_)
        del self._by_pool[pool_id][name]
        if not self._by_pool[pool_id]:
            del self._by_pool[pool_id]
        if owner := self._own_node(slice_):
            del self._local[owner][name]
        else:
            del self._shared[name]

    def _touch(self, pool_id: PoolId) -> None:
        """A pool may be whole, or outdated, because of any of its slices."""
        self._pools.pop(pool_id, None)
        for slice_ in self._by_pool.get(pool_id, {}).values():
            if owner := self._own_node(slice_):
                self._touched_nodes.add(owner)
            else:
                self.shared_version += 1

    def _own_node(self, slice_: ResourceSlice) -> str:
        """The one node that looks at a slice. Before COUNTERS_STAY_ON_THEIR_NODES, all looked at shared counters."""
        if slice_.spec.shared_counters and not (self._partitions and self._features.counters_stay_on_nodes):
            return ""
        return slice_.spec.node_name or ""

    def _node_selections(self, slice_: ResourceSlice) -> Iterable[NodeSelection]:
        spec = slice_.spec
        if not self._partitions and (spec.per_device_node_selection is not None or spec.shared_counters):
            return
        if spec.shared_counters and not self._features.counters_stay_on_nodes:
            yield NodeSelection(slice_, _EVERY_DEVICE, everywhere=True)
        elif spec.all_nodes or spec.node_selector is not None:
            yield _node_selection(slice_, _EVERY_DEVICE, "", bool(spec.all_nodes), spec.node_selector)
        elif spec.per_device_node_selection:
            for k, device in enumerate(spec.devices):
                yield _node_selection(slice_, k, device.node_name or "", bool(device.all_nodes), device.node_selector)

    def _is_ignored(self, slice_: ResourceSlice) -> bool:
        """Whether the slice says what only DRADeviceCompatibilityGroups understands."""
        if not self._features.ignores_incompatible or self._features.compatibility_groups:
            return False
        return any(taken.compatibility_groups for device in slice_.spec.devices for taken in device.consumes_counters)


def relevant_slices(matching: Iterable[NodeSelection]) -> list[RelevantSlice]:
    """The slices that a node sees, and of each the devices for it."""
    usable: dict[str, set[int]] = {}
    slices: dict[str, ResourceSlice] = {}
    for selection in matching:
        slices[selection.resource_slice.metadata.name] = selection.resource_slice
        usable.setdefault(selection.resource_slice.metadata.name, set()).add(selection.device)
    return [
        RelevantSlice(slice_, None if _EVERY_DEVICE in usable[name] else frozenset(usable[name]))
        for name, slice_ in slices.items()
    ]


def _pool_id(slice_: ResourceSlice) -> PoolId:
    return slice_.spec.driver, slice_.spec.pool.name


def _node_selection(
    slice_: ResourceSlice, device: int, node_name: str, everywhere: bool, selector: NodeSelector | None
) -> NodeSelection:
    if node_name:
        return NodeSelection(slice_, device, node_name=node_name)
    if everywhere or selector is None:
        return NodeSelection(slice_, device, everywhere=everywhere)
    return NodeSelection(slice_, device, selector=compile_node_selector(selector))
