"""Everybody of lower priority, node by node, in the order of importance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kubesched.columns import ABSENT, Booleans, Cluster, NodeView, WhatIf
from kubesched.framework import Victims

RowArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class PotentialVictims:
    """The pods that may be evicted from the rows of a view; arrays have one entry per pod, row after row.

    Within a row the most important pod comes first: higher priority, then the earlier start (MoreImportantPod).
    A row without potential victims is not in the view.
    """

    nodes: NodeView
    pods: RowArray  # rows of the pod table
    positions: RowArray  # in the view, never decreasing

    @classmethod
    def on(cls, cluster: Cluster, rows: RowArray, priority: int) -> PotentialVictims:
        """All pods on these rows of the node table whose priority is lower."""
        table = cluster.pods
        is_asked = np.zeros(len(cluster.nodes) + 1, dtype=np.bool_)  # the last entry answers for ABSENT (-1)
        is_asked[rows] = True
        used = table.used()
        pods = np.flatnonzero((table.priority[used] < priority) & is_asked[table.node_row[used]])
        node_rows = table.node_row[pods].astype(np.intp)
        nodes = cluster.view(np.unique(node_rows))
        positions = nodes.positions_of(node_rows)
        order = np.lexsort((table.start_time[pods], -table.priority[pods].astype(np.int64), positions))
        return cls(nodes, pods[order], positions[order])

    def at(self, positions: RowArray) -> PotentialVictims:
        """Those on some rows of the view, which become the rows of the new view in this order."""
        new_position = np.full(len(self.nodes), ABSENT, dtype=np.intp)
        new_position[positions] = np.arange(len(positions))
        kept = np.flatnonzero(new_position[self.positions] != ABSENT)
        kept = kept[np.argsort(new_position[self.positions[kept]], kind="stable")]
        return PotentialVictims(self.nodes.at(positions), self.pods[kept], new_position[self.positions[kept]])

    def counts(self) -> RowArray:
        """How many there are on each row."""
        return np.bincount(self.positions, minlength=len(self.nodes))

    def without(self, gone: Booleans) -> NodeView:
        """The nodes as if the pods marked here were gone."""
        table = self.nodes.cluster.pods
        return self.nodes.supposing(WhatIf.removed(table, self.pods[gone], self.positions[gone]))

    def victims(self, position: int, chosen: Booleans, breaks_budget: Booleans) -> Victims:
        """The chosen ones of one row."""
        start, end = np.searchsorted(self.positions, (position, position + 1))
        mine = np.flatnonzero(chosen[start:end]) + start
        infos = self.nodes.cluster.pods.infos
        pods = tuple(info.pod for row in self.pods[mine].tolist() if (info := infos[row]) is not None)
        return Victims(pods, int(np.count_nonzero(breaks_budget[mine])))
