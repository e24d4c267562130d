"""Classes of nodes that offer the same choice of devices: the same kinds, in the same order, with the same ones taken.

Whatever can be allocated on one node of a class can be allocated on all of them, device by device. So the search for
devices runs once per class, not once per node, and its result is kept while the class does not change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubesched.scheduler.columns import EVERYTHING, ClusterTables, Everything, Follower, Integers
from kubesched.scheduler.columns.types import grown
from kubesched.scheduler.plugins.dynamic_resources.inventory import Inventory, NodeSelection, relevant_slices
from kubesched.scheduler.plugins.dynamic_resources.pools import Pool, PoolState, RelevantSlice
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker, PoolId

_NOWHERE: Final = -1
_MOST_CLASSES: Final = 1 << 16


@dataclass(slots=True)
class SharedPools:
    """The pools of slices that several nodes share; nodes that see the same slices have the same number here."""

    number: int
    relevant: list[RelevantSlice]
    pools: list[Pool]
    pool_ids: frozenset[PoolId]


@dataclass(frozen=True, slots=True)
class NodePools:
    """The pools that a node sees, in the order in which they are tried, and what is taken of them."""

    pools: tuple[Pool, ...]
    states: tuple[PoolState, ...]


class NodeClasses:
    """The class of every node, kept up to date from what changed in the inventory, the claims and the node table."""

    def __init__(
        self, cluster: ClusterTables, inventory: Inventory, tracker: ClaimTracker, *, shares_are_in_use: bool
    ) -> None:
        self._cluster = cluster
        self._shares_are_in_use = shares_are_in_use
        self._inventory = inventory
        self._tracker = tracker
        self._touched = Follower(tracker.touched)
        self._node_changes = Follower(cluster.nodes.node_changes)
        self._numbers: dict[object, int] = {}
        self._class_of_row: Integers = np.full(0, _NOWHERE, dtype=np.int64)
        self._group: Integers = np.full(0, _NOWHERE, dtype=np.int64)
        self._own: dict[int, list[Pool]] = {}
        self._groups: dict[bytes, SharedPools] = {}
        self._group_list: list[SharedPools] = []
        self._shared_version = -1
        self.epoch = 0
        """Changes whenever classes were renumbered."""
        self.shared_epoch = 0
        """Changes whenever a device that several nodes share was taken or given back: classes do not show that."""
        self.problem = ""
        """Why no node can be looked at; empty normally."""

    def refresh(self) -> None:
        """Bring all classes up to date."""
        touched = self._touched.changed()
        table, stale = self._cluster.nodes, self._stale_rows(renew=touched is EVERYTHING)
        if len(table) > len(self._class_of_row):
            self._class_of_row = grown(self._class_of_row, table.capacity, _NOWHERE)
            self._group = grown(self._group, table.capacity, _NOWHERE)
        if stale is EVERYTHING:
            self._regroup(np.arange(len(table)))
        elif stale:
            self._regroup(np.array(sorted(stale), dtype=np.intp))
        pools = set[PoolId]() if touched is EVERYTHING else set(touched)
        own_pools_touched = {row for pool in pools for row in self._rows_of(self._inventory.nodes_of(pool))}
        for row in own_pools_touched if stale is not EVERYTHING else ():
            if self._group[row] != _NOWHERE:  # a row without a node (yet) has no class
                self._classify(row)
        if any(not group.pool_ids.isdisjoint(pools) for group in self._group_list):
            self.shared_epoch += 1

    def of_rows(self, rows: Integers | slice) -> Integers:
        """The class of each row."""
        return self._class_of_row[rows]

    def pools(self, row: int) -> NodePools:
        own = self._own.get(row, [])
        group = self._group_list[int(self._group[row])]
        replaced = {pool.id for pool in own}
        pools = sorted((*own, *(pool for pool in group.pools if pool.id not in replaced)), key=lambda p: p.sort_key)
        return NodePools(tuple(pools), tuple(self._state(pool) for pool in pools))

    def _stale_rows(self, *, renew: bool) -> set[int] | Everything:
        """Rows to look at again; EVERYTHING is what `renew` asks for."""
        changed = self._node_changes.changed()
        touched = self._inventory.touched_nodes()
        is_crowded = len(self._numbers) > _MOST_CLASSES
        if renew or changed is EVERYTHING or is_crowded or self._shared_version != self._inventory.shared_version:
            self.epoch += 1
            self._shared_version = self._inventory.shared_version
            self.problem = self._inventory.problem
            self._numbers.clear()
            self._groups.clear()
            self._group_list.clear()
            return EVERYTHING
        return set(changed) | set(self._rows_of(touched))

    def _rows_of(self, names: Iterable[str]) -> list[int]:
        row_of = self._cluster.nodes.row_of
        return [row_of[name] for name in names if name in row_of]

    def _regroup(self, rows: Integers) -> None:
        """Find the shared slices that these rows see, and classify the rows."""
        nodes = self._cluster.view(rows)
        selections = self._inventory.node_selections
        seen = np.array([selection.matches(nodes) for selection in selections], dtype=np.bool_)
        seen = seen.reshape(len(selections), len(rows))
        packed = np.packbits(seen, axis=0)
        for position, row in enumerate(rows.tolist()):
            key = packed[:, position].tobytes()
            group = self._groups.get(key)
            if group is None:
                chosen = np.flatnonzero(seen[:, position]).tolist()
                group = self._groups[key] = self._new_group([selections[k] for k in chosen])
            self._group[row] = group.number
            self._classify(row)

    def _new_group(self, seen: Iterable[NodeSelection]) -> SharedPools:
        relevant = relevant_slices(seen)
        pools = sorted(self._inventory.shared_pools(relevant), key=lambda pool: pool.sort_key)
        group = SharedPools(len(self._group_list), relevant, pools, frozenset(pool.id for pool in pools))
        self._group_list.append(group)
        return group

    def _classify(self, row: int) -> None:
        """Give a row its class."""
        name = self._cluster.nodes.names[row]
        group = self._group_list[int(self._group[row])]
        own = self._inventory.own_pools(name, group.relevant)
        self._own[row] = own
        own.sort(key=lambda pool: pool.sort_key)
        shared_keys = [pool.sort_key for pool in group.pools]
        key = (
            group.number,
            tuple(
                (
                    bisect_left(shared_keys, pool.sort_key),
                    pool.id if pool.id in group.pool_ids else None,
                    pool.shape,
                    self._state(pool),
                )
                for pool in own
            ),
        )
        self._class_of_row[row] = self._numbers.setdefault(key, len(self._numbers))

    def _state(self, pool: Pool) -> PoolState:
        return pool.state(self._tracker.usage(pool.id), shares_are_in_use=self._shares_are_in_use)
