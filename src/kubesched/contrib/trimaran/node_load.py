"""Measurements of nodes, in columns: one number per row of the node table, NaN where nothing was measured."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from kubesched.contrib.trimaran.load_source import AVERAGE, DEVIATION, LATEST, LoadSource, Metric
from kubesched.framework import Booleans, ClusterTables, Floats, Node, NodeView


class NodeLoad:
    """Columns are built when measurements or nodes have changed, and are kept until then."""

    def __init__(self, source: LoadSource) -> None:
        self._source = source
        self._kept: dict[Hashable, tuple[Hashable, Floats]] = {}

    @property
    def version(self) -> Hashable:
        return self._source.version

    def columns_version(self, cluster: ClusterTables) -> Hashable:
        """As long as it stays equal, columns do."""
        table = cluster.nodes
        # A pod on a node that is not known yet brings a row of its own: no node has changed then.
        return (self._source.version, table.node_changes.position, len(table))

    def is_measured(self, nodes: NodeView) -> Booleans:
        return ~np.isnan(self._column(nodes, "measured", lambda metrics: 0.0))

    def last(self, nodes: NodeView, kind: str) -> Floats:
        """The last of the averages and latest values that the source lists."""
        return self._column(nodes, ("last", kind), lambda metrics: _values(metrics, kind)[-1])

    def first(self, nodes: NodeView, kind: str) -> Floats:
        return self._column(nodes, ("first", kind), lambda metrics: _values(metrics, kind)[0])

    def average(self, nodes: NodeView, kind: str) -> Floats:
        return self._column(nodes, ("average", kind), lambda metrics: _statistics(metrics, kind).average)

    def deviation(self, nodes: NodeView, kind: str) -> Floats:
        return self._column(nodes, ("deviation", kind), lambda metrics: _statistics(metrics, kind).deviation)

    def capacity(self, nodes: NodeView) -> Floats:
        """Thousandths of CPU, allocatable or not."""
        return self._by_node(nodes, "capacity", _cpu_capacity)

    def _column(self, nodes: NodeView, key: Hashable, read: Callable[[Sequence[Metric]], float]) -> Floats:
        table = nodes.table
        version = self.columns_version(nodes.cluster)
        kept = self._kept.get(key)
        if kept is None or kept[0] != version:
            column = np.full(len(table), np.nan)
            for name, metrics in self._source.metrics().items():
                if (row := table.row_of.get(name)) is not None:
                    column[row] = read(metrics)
            kept = self._kept[key] = (version, column)
        return kept[1][nodes.rows]

    def _by_node(self, nodes: NodeView, key: Hashable, read: Callable[[Node], float]) -> Floats:
        table = nodes.table
        version = (table.node_changes.position, len(table))
        kept = self._kept.get(key)
        if kept is None or kept[0] != version:
            column = np.array([0.0 if node is None else read(node) for node in table.nodes])
            kept = self._kept[key] = (version, column)
        return kept[1][nodes.rows]


class _Statistics(NamedTuple):
    average: float
    deviation: float


def _values(metrics: Sequence[Metric], kind: str) -> Sequence[float]:
    found = [one.value for one in metrics if one.type == kind and one.operator in (AVERAGE, LATEST)]
    return found or [np.nan]


def _statistics(metrics: Sequence[Metric], kind: str) -> _Statistics:
    """An average, or the latest value where there is none; 0 where only the other of the two was measured."""
    of_kind = [one for one in metrics if one.type == kind]
    if not of_kind:
        return _Statistics(np.nan, np.nan)
    averages = [one.value for one in of_kind if one.operator == AVERAGE]
    latest = [one.value for one in of_kind if one.operator in ("", LATEST)]
    deviations = [one.value for one in of_kind if one.operator == DEVIATION]
    return _Statistics((averages or latest or [0.0])[-1], (deviations or [0.0])[-1])


def _cpu_capacity(node: Node) -> float:
    cpu = node.status.capacity.get("cpu")
    return float(cpu.milli_value()) if cpu is not None else 0.0
