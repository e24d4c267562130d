"""The rows that a plugin is asked about, optionally as if some pods were added or removed.

A plugin reads columns through a `NodeView` and answers with one entry per row of the view. It never needs to know
whether it was asked about all nodes, about the three that changed, or about a preemption's "what if".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kubesched.objects import Node
from kubesched.objects.affinity import Taint
from kubesched.scheduler.columns.label_column import LabelColumn
from kubesched.scheduler.columns.node_table import NodeTable
from kubesched.scheduler.columns.pod_counts import PodCount, Weigh
from kubesched.scheduler.columns.types import ABSENT, Booleans, Counts, Integers, Positions, Rows
from kubesched.scheduler.columns.what_if import WhatIf

if TYPE_CHECKING:
    from kubesched.scheduler.columns.cluster import ClusterTables


class NodeView:
    """`rows` of the cluster's node table, with `what_if` applied. Arrays have one entry per row of the view.

    A view over all rows also covers rows without a node (`exists` is False); answers for them are ignored.
    """

    __slots__ = ("_length", "cluster", "rows", "table", "what_if")

    def __init__(self, cluster: ClusterTables, rows: Rows, what_if: WhatIf | None = None) -> None:
        self.cluster = cluster
        self.table: NodeTable = cluster.nodes
        self.rows = rows
        self.what_if = what_if
        self._length = len(self.table) if isinstance(rows, slice) else len(rows)

    def __len__(self) -> int:
        return self._length

    def at(self, positions: npt.NDArray[np.intp], what_if: WhatIf | None = None) -> NodeView:
        """The view's rows at these positions; `what_if` is relative to the new view."""
        return NodeView(self.cluster, self.row_ids()[positions], what_if)

    def supposing(self, what_if: WhatIf) -> NodeView:
        return NodeView(self.cluster, self.rows, what_if)

    def row_ids(self) -> npt.NDArray[np.intp]:
        return np.arange(self._length) if isinstance(self.rows, slice) else self.rows

    # ---- the nodes themselves ----------------------------------------------------------------------------------

    @property
    def exists(self) -> Booleans:
        return self.table.exists[self.rows]

    @property
    def unschedulable(self) -> Booleans:
        return self.table.unschedulable[self.rows]

    def by_taint_set(self, judge: Callable[[tuple[Taint, ...]], int]) -> Integers:
        """`judge` of each row's taints, which don't say when they were added; once per distinct set of taints."""
        return self.table.taint_sets.judged(judge, self.rows)

    def by_feature_set(self, judge: Callable[[frozenset[str]], int]) -> Integers:
        """`judge` of the features that each row's node declares; once per distinct set of them."""
        return self.table.feature_sets.judged(judge, self.rows)

    def label(self, key: str) -> LabelColumn:
        """The whole column of a label key; index it with `rows`, or use `domains`."""
        return self.table.label(key)

    def domains(self, key: str) -> Positions:
        """Per row: the id of its value of a label, or ABSENT. The topology domain, if `key` is a topology key."""
        return self.table.label(key).domains[self.rows]

    def position_of(self, node_name: str) -> int | None:
        """Where a node is in this view."""
        row = self.table.row_of.get(node_name)
        if row is None or self.table.nodes[row] is None:
            return None
        if isinstance(self.rows, slice):
            return row
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if len(found) else None

    def positions_of(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Where rows of the table are in this view; ABSENT for those that are not."""
        if isinstance(self.rows, slice):
            return rows
        positions = np.full(len(self.table), ABSENT, dtype=np.intp)
        positions[self.rows] = np.arange(self._length)
        return positions[rows]

    def node(self, position: int) -> Node | None:
        row = position if isinstance(self.rows, slice) else int(self.rows[position])
        return self.table.nodes[row]

    def name(self, position: int) -> str:
        row = position if isinstance(self.rows, slice) else int(self.rows[position])
        return self.table.names[row]

    # ---- what they offer and what is taken ---------------------------------------------------------------------

    def allocatable(self, resource: str) -> Integers:
        return self.table.allocatable[self.table.resource_id(resource)][self.rows]

    @property
    def allowed_pods(self) -> Integers:
        return self.table.allowed_pods[self.rows]

    def requested(self, resource: str) -> Integers:
        """The sum of the requests of all pods, assumed ones included (CPU in thousandths)."""
        base = self.table.requested[self.table.resource_id(resource)][self.rows]
        if self.what_if is None:
            return base
        return self._supposing(base, lambda pod: pod.requests.get(resource, 0), key=("requested", resource))

    @property
    def nonzero_cpu(self) -> Integers:
        """Like `requested("cpu")`, but a container without a request counts as 100m."""
        return self._supposing(self.table.nonzero_cpu[self.rows], lambda pod: pod.nonzero_cpu, key="nonzero_cpu")

    @property
    def nonzero_memory(self) -> Integers:
        """Like `requested("memory")`, but a container without a request counts as 200Mi."""
        base = self.table.nonzero_memory[self.rows]
        return self._supposing(base, lambda pod: pod.nonzero_memory, key="nonzero_memory")

    @property
    def pod_count(self) -> Integers:
        return self._supposing(self.table.pod_count[self.rows], lambda pod: 1, key="pod_count")

    # ---- the pods on them ----------------------------------------------------------------------------------------

    def count(
        self, key: Hashable, weigh: Weigh, *, counts_terminating: bool = True, tags: Iterable[Hashable] | None = None
    ) -> PodCount:
        """The count of placed pods for which `weigh` is not 0, without any "what if".

        It is kept up to date for as long as you hold on to it; ask again when `cluster.counts.drops` has changed.
        `key` must name everything that `weigh` closes over; start it with the plugin's name. `tags` may narrow down
        which templates can have a weight at all (see `PodTemplate.tags`).
        """
        return self.cluster.counts.of(
            key, weigh, capacity=self.table.capacity, counts_terminating=counts_terminating, tags=tags
        )

    def change_of(self, count: PodCount) -> Counts | None:
        """What the "what if" adds to a count on each row; None if there is no "what if". Don't write to it."""
        if self.what_if is None:
            return None
        with_terminating = count.counts_terminating
        return self.what_if.change(count.weigh, self._length, with_terminating=with_terminating, key=count)

    def pods_on_node(self, count: PodCount) -> Counts:
        """The count on each row's node."""
        change = self.change_of(count)
        on_node = count.rows[self.rows]
        return on_node if change is None else on_node + change

    def pods_in_domain(self, count: PodCount, key: str) -> Counts:
        """The count in each row's domain of `key`; 0 where the node lacks the label."""
        domains = self.domains(key)
        in_domain = count.per_domain(self.table.label(key))[domains]
        change = self.change_of(count)
        return in_domain if change is None else in_domain + np.where(domains != ABSENT, change, 0)

    def _supposing(self, base: Integers, weigh: Weigh, key: Hashable) -> Integers:
        return base if self.what_if is None else base + self.what_if.change(weigh, self._length, key=key)
