"""One row per node, one array per fact.

Rows are stable while a node exists and are used again after it is gone. A row outlives its node while pods are still
counted on it (a deleted node with pods: `exists` is False, no label, no taint, no allocatable).
Two journals record what changed: `node_changes` (the node object's facts) and `pod_changes` (the pods on it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from msgspec.structs import replace

from kubesched.objects import Node
from kubesched.objects.affinity import Taint
from kubesched.objects.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_scalar_resource
from kubesched.scheduler.columns.images import ImageIndex
from kubesched.scheduler.columns.interned_column import InternedColumn
from kubesched.scheduler.columns.interning import Interner
from kubesched.scheduler.columns.journal import Journal
from kubesched.scheduler.columns.label_column import LabelColumn
from kubesched.scheduler.columns.pod_template import PodTemplate
from kubesched.scheduler.columns.sparse_column import SparseColumn
from kubesched.scheduler.columns.sum_states import SumStates
from kubesched.scheduler.columns.types import Booleans, Integers, cells, grown

_FIRST_CAPACITY = 64

STANDARD: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
"""Every table has these three resources, with the ids 0, 1 and 2. CPU counts in thousandths."""


class NodeTable:
    """The nodes in columns. Only `ClusterTables` writes to it; everybody may read."""

    def __init__(self, resources: Interner[str]) -> None:
        self.resources = resources
        self._with_column: dict[str, int] = {}  # the ids of resources that have one
        self.capacity = _FIRST_CAPACITY
        self.row_of: dict[str, int] = {}
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.exists: Booleans = np.zeros(self.capacity, dtype=np.bool_)
        self.unschedulable: Booleans = np.zeros(self.capacity, dtype=np.bool_)
        self.allowed_pods: Integers = np.zeros(self.capacity, dtype=np.int64)
        self.pod_count: Integers = np.zeros(self.capacity, dtype=np.int64)
        self.allocatable: list[Integers | SparseColumn] = []  # one column per resource id
        self.requested: list[Integers | SparseColumn] = []
        self._extras: dict[int, set[int]] = {}
        """By row: the resources beyond the standard ones that its node has or its pods ask for, or did."""
        self.nonzero_cpu: Integers = np.zeros(self.capacity, dtype=np.int64)
        self.nonzero_memory: Integers = np.zeros(self.capacity, dtype=np.int64)
        self.labels: dict[str, LabelColumn] = {}
        """The columns of all keys that some node carries."""
        self._not_carried: WeakValueDictionary[str, LabelColumn] = WeakValueDictionary()
        """Others, as long as somebody holds on to them: should a node carry the key again, they are taken up again."""
        self._label_versions = count()
        self.taint_sets: InternedColumn[tuple[Taint, ...]] = InternedColumn(self.capacity)
        """Taints without the time at which they were added: scheduling does not read it, and it is always another."""
        self.feature_sets: InternedColumn[frozenset[str]] = InternedColumn(self.capacity)
        self.images = ImageIndex()
        self.sums = SumStates(self._sums_of)
        self.node_changes: Journal[int] = Journal()
        self.pod_changes: Journal[int] = Journal()
        self.node_count = 0
        self._free_rows: list[int] = []
        for name in STANDARD:
            self.resource_id(name)
        self._open_cells()

    def __len__(self) -> int:
        """How many rows are in use or were: views over all nodes have this length."""
        return len(self.names)

    def resource_id(self, name: str) -> int:
        """The id of a resource, with a column of its own from now on."""
        known = self._with_column.get(name)
        if known is not None:
            return known
        known = self._with_column[name] = self.resources.id_of(name)
        while len(self.allocatable) <= known:
            is_standard = len(self.allocatable) < len(STANDARD)
            for columns in (self.allocatable, self.requested):
                columns.append(np.zeros(self.capacity, np.int64) if is_standard else SparseColumn(self.capacity))
        return known

    def resources_of(self, row: int) -> list[int]:
        """The ids of the resources that a row's node has or its pods ask for, the standard ones always, in order."""
        return [*range(len(STANDARD)), *sorted(self._extras.get(row, ()))]

    def label(self, key: str) -> LabelColumn:
        """The column of a label key; all rows absent if no node carries it."""
        column = self.labels.get(key)
        if column is None:
            column = self._not_carried.get(key)
        if column is None:
            column = self._not_carried[key] = LabelColumn(key, self.capacity, self._label_versions)
        return column

    def _sums_of(self, row: int) -> tuple[int, ...]:
        standard = (*self.allocatable[: len(STANDARD)], *self.requested[: len(STANDARD)])
        counts = (self.allowed_pods, self.pod_count, self.nonzero_cpu, self.nonzero_memory)
        sums = [column.item(row) for column in (*counts, *standard)]
        for resource in sorted(self._extras.get(row, ())):
            offered, taken = self.allocatable[resource].item(row), self.requested[resource].item(row)
            if offered or taken:
                sums += (resource, offered, taken)
        return tuple(sums)

    def existing(self) -> Iterator[tuple[int, Node]]:
        for row, node in enumerate(self.nodes):
            if node is not None:
                yield row, node

    # ---- written by ClusterTables ----

    def row_for(self, name: str) -> int:
        """The row of a node, made if there is none yet (a pod may be seen before its node)."""
        row = self.row_of.get(name)
        if row is not None:
            return row
        if self._free_rows:
            row = self._free_rows.pop()
            self.names[row] = name
        else:
            row = len(self.names)
            if row == self.capacity:
                self._grow(self.capacity * 2)
            self.names.append(name)
            self.nodes.append(None)
        self.row_of[name] = row
        return row

    def write(self, node: Node) -> bool:
        """Take over a node's facts. False if nothing that scheduling reads has changed (a heartbeat)."""
        row = self.row_for(node.metadata.name)
        old = self.nodes[row]
        self.nodes[row] = node
        if old is not None and _same_facts(old, node):
            return False
        if old is None:
            self.exists[row] = True
            self.node_count += 1
        self._write_labels(row, old.metadata.labels if old else {}, node.metadata.labels)
        self.unschedulable[row] = node.spec.unschedulable
        self.taint_sets.set(row, tuple([_untimed(taint) for taint in node.spec.taints]))
        self.feature_sets.set(row, frozenset(node.status.declared_features))
        self._write_allocatable(row, node)
        self.images.replace(row, old.status.images if old else (), node.status.images)
        self.node_changes.append(row)
        return True

    def clear(self, row: int) -> None:
        """The node is gone; what its pods occupy stays until they are gone too."""
        old = self.nodes[row]
        if old is None:
            return
        self.nodes[row] = None
        self.exists[row] = False
        self.node_count -= 1
        self._write_labels(row, old.metadata.labels, {})
        self.unschedulable[row] = False
        self.taint_sets.set(row, None)
        self.feature_sets.set(row, None)
        self._clear_allocatable(row)
        self.sums.node_changed(row)
        self.images.replace(row, old.status.images, ())
        self.node_changes.append(row)

    def account(self, row: int, template: PodTemplate, sign: int) -> None:
        """A pod comes to a row (+1), or leaves it (-1)."""
        standard = self._requested_cells
        for resource, amount in template.request_vector:
            if resource in standard:
                standard[resource][row] += sign * amount
            else:
                self.resource_id(self.resources.values[resource])
                self._extras.setdefault(row, set()).add(resource)
                self.requested[resource][row] += sign * amount
        cpu, memory, pods = self._nonzero_and_count_cells
        cpu[row] += sign * template.nonzero_cpu
        memory[row] += sign * template.nonzero_memory
        pods[row] += sign
        self.sums.step(row, sign * template.size)
        self.pod_changes.append(row)

    def release(self, row: int) -> None:
        """Nothing is left of the node: its row may be used again."""
        self._extras.pop(row, None)
        del self.row_of[self.names[row]]
        self.names[row] = ""
        self._free_rows.append(row)

    def _write_labels(self, row: int, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        for key, value in new.items():
            if old.get(key) != value:
                column = self.labels.get(key)
                if column is None:
                    column = self.labels[key] = self.label(key)
                    del self._not_carried[key]
                column.set(row, value)
        for key in old:
            if key not in new:
                column = self.labels[key]
                column.set(row, None)
                if not len(column):
                    self._not_carried[key] = self.labels.pop(key)

    def _write_allocatable(self, row: int, node: Node) -> None:
        self._clear_allocatable(row)
        for name, quantity in node.status.allocatable.items():
            if name == CPU:
                self.allocatable[0][row] = quantity.milli_value()
            elif name == PODS:
                self.allowed_pods[row] = quantity.value()
            elif name == MEMORY:
                self.allocatable[1][row] = quantity.value()
            elif name == EPHEMERAL_STORAGE:
                self.allocatable[2][row] = quantity.value()
            elif is_scalar_resource(name):
                resource = self.resource_id(name)
                self.allocatable[resource][row] = quantity.value()
                self._extras.setdefault(row, set()).add(resource)
        self.sums.node_changed(row)

    def _clear_allocatable(self, row: int) -> None:
        for resource in self.resources_of(row):
            self.allocatable[resource][row] = 0
        self.allowed_pods[row] = 0

    def _grow(self, capacity: int) -> None:
        self.capacity = capacity
        self.exists = grown(self.exists, capacity, False)
        self.unschedulable = grown(self.unschedulable, capacity, False)
        self.allowed_pods = grown(self.allowed_pods, capacity, 0)
        self.pod_count = grown(self.pod_count, capacity, 0)
        self.nonzero_cpu = grown(self.nonzero_cpu, capacity, 0)
        self.nonzero_memory = grown(self.nonzero_memory, capacity, 0)
        self.taint_sets.grow(capacity)
        self.feature_sets.grow(capacity)
        for columns in (self.allocatable, self.requested):
            for resource, column in enumerate(columns):
                if isinstance(column, SparseColumn):
                    column.grow(capacity)
                else:
                    columns[resource] = grown(column, capacity, 0)
        for label in (*self.labels.values(), *self._not_carried.values()):
            label.grow(capacity)
        self._open_cells()

    def _open_cells(self) -> None:
        standard = self.requested[: len(STANDARD)]
        self._requested_cells = {
            resource: cells(column) for resource, column in enumerate(standard) if not isinstance(column, SparseColumn)
        }
        self._nonzero_and_count_cells = tuple(map(cells, (self.nonzero_cpu, self.nonzero_memory, self.pod_count)))


def _same_facts(old: Node, new: Node) -> bool:
    return (
        old.metadata.labels == new.metadata.labels
        and old.spec == new.spec
        and old.status.allocatable == new.status.allocatable
        and old.status.images == new.status.images
        and old.status.declared_features == new.status.declared_features
    )


def _untimed(taint: Taint) -> Taint:
    return taint if taint.time_added is None else replace(taint, time_added=None)
