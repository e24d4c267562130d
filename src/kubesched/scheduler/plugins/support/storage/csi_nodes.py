"""CSINodes in columns: per node the volume limits of drivers, the drivers themselves, and migrated in-tree plugins."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.objects import CSINode
from kubesched.scheduler.columns import EVERYTHING, Booleans, ClusterTables, Follower, Integers
from kubesched.scheduler.columns.types import grown
from kubesched.scheduler.framework import ObjectStore

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
NO_LIMIT: Final = np.iinfo(np.int64).max


class CsiNodeColumns:
    """Arrays with one entry per row of the node table, as of the last `refresh`."""

    def __init__(self, cluster: ClusterTables, csi_nodes: ObjectStore[CSINode]) -> None:
        self._table = cluster.nodes
        self._csi_nodes = csi_nodes
        self._node_changes = Follower(self._table.node_changes)
        self._csi_node_changes = Follower(csi_nodes.changes)
        self._capacity = 0
        self.exists: Booleans = np.zeros(0, dtype=np.bool_)
        """The node has a CSINode."""
        self.is_limited: Booleans = np.zeros(0, dtype=np.bool_)
        """At least one driver has a limit there."""
        self._limits: dict[str, Integers] = {}
        self._drivers: dict[str, Booleans] = {}
        self._migrated: dict[str, Booleans] = {}

    def limits(self, driver: str) -> Integers | None:
        """How many volumes of a driver nodes can attach, NO_LIMIT where nothing is said; None if that is everywhere."""
        return self._limits.get(driver)

    def has_driver(self, driver: str) -> Booleans:
        return self._flags(self._drivers, driver)

    def is_migrated(self, plugin: str) -> Booleans:
        """Nodes that say of an in-tree plugin that its CSI driver has taken over."""
        return self._flags(self._migrated, plugin)

    def refresh(self) -> None:
        nodes, csi_nodes = self._node_changes.changed(), self._csi_node_changes.changed()
        if nodes == csi_nodes == []:
            return
        if self._capacity != self._table.capacity:
            self._grow(self._table.capacity)
        if nodes is EVERYTHING or csi_nodes is EVERYTHING:
            rows = set(range(len(self._table)))
        else:
            row_of = self._table.row_of
            rows = {*nodes, *(row for name in csi_nodes if (row := row_of.get(name)) is not None)}
        for row in rows:
            self._read(row)

    def _read(self, row: int) -> None:
        csi_node = self._csi_nodes.get(self._table.names[row])
        self._clear(row)
        if csi_node is None:
            return
        self.exists[row] = True
        for driver in csi_node.spec.drivers:
            self._column(self._drivers, driver.name)[row] = True
            if driver.allocatable is not None and driver.allocatable.count is not None:
                self._limit_column(driver.name)[row] = driver.allocatable.count
                self.is_limited[row] = True
        for plugin in filter(None, csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")):
            self._column(self._migrated, plugin)[row] = True

    def _clear(self, row: int) -> None:
        self.exists[row] = self.is_limited[row] = False
        for limits in self._limits.values():
            limits[row] = NO_LIMIT
        for flags in (*self._drivers.values(), *self._migrated.values()):
            flags[row] = False

    def _flags(self, columns: dict[str, Booleans], key: str) -> Booleans:
        flags = columns.get(key)
        return flags if flags is not None else np.zeros(self._capacity, dtype=np.bool_)

    def _column(self, columns: dict[str, Booleans], key: str) -> Booleans:
        column = columns.get(key)
        if column is None:
            column = columns[key] = np.zeros(self._capacity, dtype=np.bool_)
        return column

    def _limit_column(self, driver: str) -> Integers:
        column = self._limits.get(driver)
        if column is None:
            column = self._limits[driver] = np.full(self._capacity, NO_LIMIT, dtype=np.int64)
        return column

    def _grow(self, capacity: int) -> None:
        self._capacity = capacity
        self.exists = grown(self.exists, capacity, False)
        self.is_limited = grown(self.is_limited, capacity, False)
        self._limits = {key: grown(column, capacity, NO_LIMIT) for key, column in self._limits.items()}
        self._drivers = {key: grown(column, capacity, False) for key, column in self._drivers.items()}
        self._migrated = {key: grown(column, capacity, False) for key, column in self._migrated.items()}
