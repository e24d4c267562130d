"""Nodes that offer the same choice of devices: the same kinds, in the same order, with the same ones taken.

Whatever can be allocated on one node of a *place* can be allocated on all of them, device by device. So the search
for devices runs once per place, not once per node, and its result is kept while the place does not change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubesched.scheduler.columns import ClusterTables, Integers, JournalReader
from kubesched.scheduler.columns.types import grown
from kubesched.scheduler.plugins.dynamic_resources.inventory import Inventory, Reachability, relevant_slices
from kubesched.scheduler.plugins.dynamic_resources.pools import Pool, PoolState, RelevantSlice
from kubesched.scheduler.plugins.support.devices.ledger import Ledger, PoolId

_NOWHERE: Final = -1
_MOST_PLACES: Final = 1 << 16


@dataclass(slots=True)
class Group:
    """Nodes that the same shared slices reach, and the pools of these slices."""

    number: int
    relevant: list[RelevantSlice]
    pools: list[Pool]
    pool_ids: frozenset[PoolId]


@dataclass(frozen=True, slots=True)
class NodePools:
    """The pools that a node sees, in the order in which they are tried, and what is taken of them."""

    pools: tuple[Pool, ...]
    states: tuple[PoolState, ...]


class Places:
    """Keeps the place of every node; asks inventory, ledger and node table only what changed since the last time."""

    def __init__(self, cluster: ClusterTables, inventory: Inventory, ledger: Ledger) -> None:
        self._cluster = cluster
        self._inventory = inventory
        self._ledger = ledger
        self._touched = JournalReader(ledger.touched)
        self._numbers: dict[object, int] = {}
        self._place: Integers = np.full(0, _NOWHERE, dtype=np.int64)
        self._group: Integers = np.full(0, _NOWHERE, dtype=np.int64)
        self._own: dict[int, list[Pool]] = {}
        self._groups: dict[bytes, Group] = {}
        self._group_list: list[Group] = []
        self._shared_version = -1
        self._node_position = -1
        self.epoch = 0
        """Changes whenever places were numbered anew."""
        self.shared_epoch = 0
        """Changes whenever a device that several nodes share was taken or given back: their places do not tell that."""
        self.problem = ""
        """Why no node can be looked at; empty normally."""

    def refresh(self) -> None:
        """Bring all places up to date."""
        touched = self._touched.news()
        table, stale = self._cluster.nodes, self._stale_rows(renew=touched is None)
        if len(table) > len(self._place):
            self._place = grown(self._place, table.capacity, _NOWHERE)
            self._group = grown(self._group, table.capacity, _NOWHERE)
        if stale is None:
            self._regroup(np.arange(len(table)))
        elif stale:
            self._regroup(np.array(sorted(stale), dtype=np.intp))
        pools = set(touched or ())
        own_pools_touched = {row for pool in pools for row in self._rows_of(self._inventory.nodes_of(pool))}
        for row in own_pools_touched if stale is not None else ():
            if self._group[row] != _NOWHERE:  # a row without a node (yet) has no place
                self._settle(row)
        if any(not group.pool_ids.isdisjoint(pools) for group in self._group_list):
            self.shared_epoch += 1

    def of_rows(self, rows: Integers | slice) -> Integers:
        """The place of each row."""
        return self._place[rows]

    def pools(self, row: int) -> NodePools:
        own = self._own.get(row, [])
        group = self._group_list[int(self._group[row])]
        replaced = {pool.id for pool in own}
        pools = sorted((*own, *(pool for pool in group.pools if pool.id not in replaced)), key=lambda p: p.sort_key)
        return NodePools(tuple(pools), tuple(self._state(pool) for pool in pools))

    def _stale_rows(self, *, renew: bool) -> set[int] | None:
        """Rows to look at again; None for all of them, which `renew` asks for."""
        journal = self._cluster.nodes.node_changes
        changed = journal.since(self._node_position) if self._node_position >= 0 else None
        self._node_position = journal.position
        touched = self._inventory.touched_nodes()
        is_crowded = len(self._numbers) > _MOST_PLACES
        if renew or changed is None or is_crowded or self._shared_version != self._inventory.shared_version:
            self.epoch += 1
            self._shared_version = self._inventory.shared_version
            self.problem = self._inventory.problem
            self._numbers.clear()
            self._groups.clear()
            self._group_list.clear()
            return None
        return set(changed) | set(self._rows_of(touched))

    def _rows_of(self, names: Iterable[str]) -> list[int]:
        row_of = self._cluster.nodes.row_of
        return [row_of[name] for name in names if name in row_of]

    def _regroup(self, rows: Integers) -> None:
        """Find the shared slices that reach these rows, and settle the rows."""
        nodes = self._cluster.view(rows)
        reaches = self._inventory.reachabilities
        reached = np.array([reach.reaches(nodes) for reach in reaches], dtype=np.bool_).reshape(len(reaches), len(rows))
        packed = np.packbits(reached, axis=0)
        for position, row in enumerate(rows.tolist()):
            key = packed[:, position].tobytes()
            group = self._groups.get(key)
            if group is None:
                chosen = np.flatnonzero(reached[:, position]).tolist()
                group = self._groups[key] = self._new_group([reaches[k] for k in chosen])
            self._group[row] = group.number
            self._settle(row)

    def _new_group(self, reached: Iterable[Reachability]) -> Group:
        relevant = relevant_slices(reached)
        pools = sorted(self._inventory.shared_pools(relevant), key=lambda pool: pool.sort_key)
        group = Group(len(self._group_list), relevant, pools, frozenset(pool.id for pool in pools))
        self._group_list.append(group)
        return group

    def _settle(self, row: int) -> None:
        """Give a row its place."""
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
        self._place[row] = self._numbers.setdefault(key, len(self._numbers))

    def _state(self, pool: Pool) -> PoolState:
        return pool.state(self._ledger.usage(pool.id))
