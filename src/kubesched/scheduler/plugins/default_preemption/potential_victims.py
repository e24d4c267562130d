"""Everybody who may be evicted, node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kubesched.scheduler.columns import ABSENT, Booleans, ClusterTables, NodeView, WhatIf
from kubesched.scheduler.framework import Victims

RowArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class PotentialVictims:
    """The pods that may be evicted from the rows of a view, one entry per pod. Every row has at least one."""

    nodes: NodeView
    pods: RowArray  # rows of the pod table
    positions: RowArray  # in the view

    @classmethod
    def on(cls, cluster: ClusterTables, rows: RowArray, may_evict: Callable[[RowArray], Booleans]) -> PotentialVictims:
        """All pods on these rows of the node table that may be evicted, in no order."""
        table = cluster.pods
        is_asked = np.zeros(len(cluster.nodes) + 1, dtype=np.bool_)  # the last entry answers for ABSENT (-1)
        is_asked[rows] = True
        used = table.used()
        pods = np.flatnonzero(is_asked[table.node_row[used]])
        pods = pods[may_evict(pods)]
        node_rows = table.node_row[pods].astype(np.intp)
        has_some = np.zeros(len(cluster.nodes), dtype=np.bool_)
        has_some[node_rows] = True
        nodes = cluster.view(np.flatnonzero(has_some))
        return cls(nodes, pods, nodes.positions_of(node_rows))

    def ranked(self, positions: RowArray) -> RankedVictims:
        """Those on some rows of the view, which become the rows of a new view in this order."""
        new_position = np.full(len(self.nodes), ABSENT, dtype=np.intp)
        new_position[positions] = np.arange(len(positions))
        kept = np.flatnonzero(new_position[self.positions] != ABSENT)
        pods, kept_positions = self.pods[kept], new_position[self.positions[kept]]
        table = self.nodes.cluster.pods
        order = np.lexsort((table.start_time[pods], -table.priority[pods].astype(np.int64), kept_positions))
        return RankedVictims(self.nodes.at(positions), pods[order], kept_positions[order])

    def all_gone(self) -> WhatIf:
        """As if none of them were there."""
        return WhatIf.removed(self.nodes.cluster.pods, self.pods, self.positions)


@dataclass(frozen=True, slots=True, eq=False)
class RankedVictims(PotentialVictims):
    """In order: row after row, within a row the most important pod first.

    More important are a higher priority and then an earlier start (MoreImportantPod).
    """

    def counts(self) -> RowArray:
        """How many there are on each row."""
        return np.bincount(self.positions, minlength=len(self.nodes))

    def changed(self, gone: RowArray, again: RowArray) -> WhatIf:
        """As if some were gone, and others, which were gone, were there again."""
        which = np.concatenate([gone, again])
        signs = np.repeat(np.array([-1, +1], dtype=np.int64), [len(gone), len(again)])
        return WhatIf.changed(self.nodes.cluster.pods, self.pods[which], self.positions[which], signs)

    def victims(self, evicted: Booleans, breaks_budget: Booleans) -> Iterator[Victims]:
        """The evicted ones, row by row."""
        chosen = np.flatnonzero(evicted)
        infos = self.nodes.cluster.pods.infos
        pods = [info.pod for row in self.pods[chosen].tolist() if (info := infos[row]) is not None]
        bounds = np.searchsorted(self.positions[chosen], np.arange(len(self.nodes) + 1)).tolist()
        broken = np.bincount(self.positions[evicted & breaks_budget], minlength=len(self.nodes)).tolist()
        for position, violations in enumerate(broken):
            yield Victims(tuple(pods[bounds[position] : bounds[position + 1]]), violations)
