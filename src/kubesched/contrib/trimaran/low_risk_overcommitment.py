"""LowRiskOverCommitment: prefer nodes on which limits above the capacity are least likely to be used.

risk = weight · (how far limits exceed the capacity) + (1 - weight) · (probability that more is used than requested)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np

from kubesched.contrib.trimaran.load_source import CPU, MEMORY, TrimaranArgs, load_source
from kubesched.contrib.trimaran.node_load import NodeLoad
from kubesched.contrib.trimaran.pod_usage import Amounts, asked
from kubesched.contrib.trimaran.risk_by_load import RiskByLoad
from kubesched.contrib.trimaran.rounding import rounded, rounded_one
from kubesched.framework import (
    MAX_SCORE,
    ClusterTables,
    CycleState,
    DependsOn,
    Floats,
    Handle,
    Integers,
    NodeView,
    PodCount,
    PodTemplate,
    ScorePlugin,
)

NAME: Final = "LowRiskOverCommitment"
_NOTHING: Final = Amounts(0, 0)


class LowRiskOverCommitmentArgs(TrimaranArgs, frozen=True):
    """How many windows measurements were smoothed over, and the weight of limits, from 0 to 1, by resource."""

    smoothing_window_size: int = 5
    risk_limit_weights: Mapping[str, float] | None = None


class LowRiskOverCommitment(ScorePlugin):
    """Pods that ask for nothing are none of its business: all nodes are alike for them."""

    name = NAME
    depends_on = DependsOn.NODE_AND_PODS

    def __init__(self, args: Any, handle: Handle) -> None:
        chosen = LowRiskOverCommitmentArgs.of(args)
        windows = chosen.smoothing_window_size
        smoothing = math.pow(windows if windows > 0 else 5, 0.5)
        weights = {name: w if 0 <= w <= 1 else 0.5 for name, w in (chosen.risk_limit_weights or {}).items()}
        cluster = handle.cluster
        self._load = NodeLoad(load_source(chosen, handle))
        self._cpu, self._memory = (
            _Risk(resource, weights.get(resource, 0.5), RiskByLoad(kind, self._load, smoothing, cluster), cluster)
            for kind, resource in ((CPU, "cpu"), (MEMORY, "memory"))
        )

    def signature(self, pod: PodTemplate) -> Hashable:
        return asked(pod)

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._load.version

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        requests, limits = asked(pod)
        if requests == limits == _NOTHING:
            return np.zeros(len(nodes), dtype=np.int64)
        if len(nodes) == 1 and nodes.what_if is None:
            return np.array([self._score_of(nodes, requests, limits)])
        cpu = self._cpu.on_nodes(nodes, requests.cpu, limits.cpu)
        memory = self._memory.on_nodes(nodes, requests.memory, limits.memory)
        rank = 1 - np.maximum(cpu, memory)
        return rounded(np.where(self._load.is_measured(nodes), rank * MAX_SCORE, 0.0))

    def _score_of(self, nodes: NodeView, requests: Amounts, limits: Amounts) -> int:
        """Of a single node, the one to which the last pod went: plain numbers are several times faster there."""
        row = nodes.row_ids().item()
        cpu = self._cpu.on_node(nodes, row, requests.cpu, limits.cpu)
        memory = self._memory.on_node(nodes, row, requests.memory, limits.memory)
        score = rounded_one((1 - max(cpu, memory)) * MAX_SCORE)
        return score if score and self._load.is_measured(nodes).item() else 0


class _Risk:
    """That of one resource, from 0 to 1."""

    def __init__(self, resource: str, weight: float, by_load: RiskByLoad, cluster: ClusterTables) -> None:
        self._resource = resource
        self._resource_id = cluster.nodes.resource_id(resource)
        self._weight = weight
        self._by_load = by_load
        self._part = Amounts._fields.index(resource)
        self._drops = -1
        self._uncounted: PodCount
        self._beyond: PodCount

    def on_nodes(self, nodes: NodeView, request: int, limit: int) -> Floats:
        """For each row, with a pod that requests so much, and has this limit."""
        self._count(nodes)
        capacity = nodes.allocatable(self._resource)
        requested = nodes.requested(self._resource) + nodes.pods_on_node(self._uncounted)
        limited = requested + nodes.pods_on_node(self._beyond)
        columns = (nodes.row_ids(), capacity, requested, limited)
        by_load = np.array(list(map(self._by_load.at, *(column.tolist() for column in columns))))
        overcommitted = np.maximum(limited + limit - capacity, 0)
        by_limit = overcommitted / np.maximum(limited + limit - np.minimum(requested + request, capacity), 1)
        risk: Floats = self._weight * by_limit + (1 - self._weight) * by_load
        return risk

    def on_node(self, nodes: NodeView, row: int, request: int, limit: int) -> float:
        """The same for one row of the node table."""
        self._count(nodes)
        table, resource = nodes.table, self._resource_id
        capacity = table.allocatable[resource].item(row)
        requested = table.requested[resource].item(row) + self._uncounted.rows.item(row)
        limited = requested + self._beyond.rows.item(row)
        risk = (1 - self._weight) * self._by_load.at(row, capacity, requested, limited)
        overcommitted = limited + limit - capacity
        if overcommitted <= 0:
            return risk
        return self._weight * (overcommitted / (limited + limit - min(requested + request, capacity))) + risk

    def _count(self, nodes: NodeView) -> None:
        """What pods on each node ask for in Trimaran's eyes beyond what the node table counts, which is little."""
        drops = nodes.cluster.counts.drops
        if self._drops != drops:
            part, resource = self._part, self._resource
            self._drops = drops
            self._uncounted = nodes.count(
                (NAME, "requests", resource), lambda pod: asked(pod).requests[part] - pod.requests.get(resource, 0)
            )
            self._beyond = nodes.count(
                (NAME, "limits", resource), lambda pod: asked(pod).limits[part] - asked(pod).requests[part]
            )
