"""Which nodes a spread constraint includes: those whose pods count and whose domains are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubesched.objects.affinity import NodeSelector, Taint
from kubesched.objects.node_selectors import compile_node_selector
from kubesched.scheduler.columns import ABSENT, Booleans, ClusterTables, LabelColumn, NodeView, PodTemplate, Positions
from kubesched.scheduler.columns.node_matching import matching_labels, matching_selector
from kubesched.scheduler.plugins.pod_topology_spread.constraints import Constraint


@dataclass(frozen=True)
class IncludedNodes:
    """The nodes of one constraint: which rows of the table are included, and the domains that have such a row."""

    column: LabelColumn
    rows: Booleans
    is_unrestricted: bool
    """Every node that carries the label is included."""
    domains: Positions

    @classmethod
    def of_rows(cls, rows: Booleans, column: LabelColumn) -> IncludedNodes:
        domain_of_row = column.domains[: len(rows)]
        has_row = np.zeros(len(column.values) + 1, dtype=np.bool_)
        has_row[domain_of_row[rows]] = True
        return cls(
            column=column,
            rows=rows,
            is_unrestricted=not ((domain_of_row != ABSENT) & ~rows).any(),
            domains=np.flatnonzero(has_row[:ABSENT]),
        )


class NodeInclusion:
    """The included nodes. What holds for every pod without a node affinity is computed once per change of nodes."""

    def __init__(self, cluster: ClusterTables) -> None:
        self._cluster = cluster
        self._found_with = (-1, -1)
        self._carrying: dict[frozenset[str], Booleans] = {}
        self._of_anybody: dict[tuple[str, frozenset[str]], IncludedNodes] = {}

    def carrying(self, keys: frozenset[str]) -> Booleans:
        """Existing nodes with all these labels, per row of the table. Don't write to it."""
        self._forget_if_stale()
        found = self._carrying.get(keys)
        if found is None:
            nodes = self._cluster.view()
            found = nodes.exists.copy()
            for key in keys:
                found &= nodes.label(key).present(nodes.rows)
            self._carrying[keys] = found
        return found

    def of(self, pod: PodTemplate, constraint: Constraint, keys: frozenset[str]) -> IncludedNodes:
        """Nodes that carry all the keys and that the constraint's policies admit for the pod."""
        column = self._cluster.nodes.label(constraint.topology_key)
        carrying = self.carrying(keys)
        wishes = constraint.honors_node_affinity and (bool(pod.spec.node_selector) or _node_affinity(pod) is not None)
        if wishes or constraint.honors_taints:
            return IncludedNodes.of_rows(carrying & _admitted(pod, constraint, self._cluster.view()), column)
        key = (constraint.topology_key, keys)
        found = self._of_anybody.get(key)
        if found is None:
            found = self._of_anybody[key] = IncludedNodes.of_rows(carrying, column)
        return found

    def _forget_if_stale(self) -> None:
        rows = (self._cluster.nodes.node_changes.position, len(self._cluster.nodes))
        if rows != self._found_with:
            self._carrying.clear()
            self._of_anybody.clear()
            self._found_with = rows


def _admitted(pod: PodTemplate, constraint: Constraint, nodes: NodeView) -> Booleans:
    admitted = np.ones(len(nodes), dtype=np.bool_)
    if constraint.honors_node_affinity:
        admitted &= matching_labels(pod.spec.node_selector, nodes)
        required = _node_affinity(pod)
        if required is not None:  # a term that makes no sense matches nothing, and is no error here
            admitted &= matching_selector(compile_node_selector(required), nodes)
    if constraint.honors_taints:
        admitted &= nodes.by_taint_set(lambda taints: int(_tolerates_all(pod, taints))) != 0
    return admitted


def _node_affinity(pod: PodTemplate) -> NodeSelector | None:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    return affinity.required_during_scheduling_ignored_during_execution if affinity else None


def _tolerates_all(pod: PodTemplate, taints: tuple[Taint, ...]) -> bool:
    return all(pod.tolerates(taint) for taint in taints if taint.effect in ("NoSchedule", "NoExecute"))
