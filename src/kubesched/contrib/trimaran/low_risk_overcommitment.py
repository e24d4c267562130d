"""LowRiskOverCommitment: prefer nodes on which limits above the capacity are least likely to be used.

risk = weight · (how far limits exceed the capacity) + (1 - weight) · (probability that more is used than requested)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np

from kubesched.contrib.trimaran.beta_distribution import Beta
from kubesched.contrib.trimaran.load_source import CPU, MEMORY, TrimaranArgs, load_source
from kubesched.contrib.trimaran.load_variation_risk_balancing import MEGA
from kubesched.contrib.trimaran.node_load import NodeLoad
from kubesched.contrib.trimaran.pod_usage import Amounts, asked
from kubesched.contrib.trimaran.rounding import rounded
from kubesched.framework import (
    MAX_SCORE,
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
MOST_VARIANCE: Final = 0.99
"""Of the greatest variance that a share with this average can have."""
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
        self._smoothing = math.pow(windows if windows > 0 else 5, 0.5)
        weights = {name: w if 0 <= w <= 1 else 0.5 for name, w in (chosen.risk_limit_weights or {}).items()}
        self._weights = {CPU: weights.get("cpu", 0.5), MEMORY: weights.get("memory", 0.5)}
        self._load = NodeLoad(load_source(chosen, handle))
        self._counts: dict[str, tuple[PodCount, PodCount]] = {}  # held on to, so that they are kept up to date

    def signature(self, pod: PodTemplate) -> Hashable:
        return asked(pod)

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._load.version

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        requests, limits = asked(pod)
        if requests == limits == _NOTHING:
            return np.zeros(len(nodes), dtype=np.int64)
        cpu = self._risk(nodes, CPU, requests.cpu, limits.cpu)
        memory = self._risk(nodes, MEMORY, requests.memory, limits.memory)
        rank = 1 - np.maximum(cpu, memory)
        return rounded(np.where(self._load.is_measured(nodes), rank * MAX_SCORE, 0.0))

    def _risk(self, nodes: NodeView, kind: str, request: int, limit: int) -> Floats:
        """For each row: that of one resource, from 0 to 1."""
        capacity = nodes.allocatable("cpu" if kind == CPU else "memory")
        requested, limited = self._sums(nodes, kind)
        with_pod = np.minimum(requested + request, capacity)
        limit_with_pod = limited + limit
        without = np.minimum(requested, capacity)
        over = limit_with_pod > capacity
        with np.errstate(divide="ignore", invalid="ignore"):
            by_limit = np.where(over, (limit_with_pod - capacity) / (limit_with_pod - with_pod), 0.0)
        by_load = self._by_load(nodes, kind, capacity, without, limited)
        weight = self._weights[kind]
        return np.clip(weight * by_limit + (1 - weight) * by_load, 0, 1)

    def _sums(self, nodes: NodeView, kind: str) -> tuple[Integers, Integers]:
        """What the pods of each row request, and what their limits are, together."""
        part = Amounts._fields.index("cpu" if kind == CPU else "memory")
        requested = nodes.count((NAME, "requests", kind), lambda pod: asked(pod).requests[part])
        limited = nodes.count((NAME, "limits", kind), lambda pod: asked(pod).limits[part])
        self._counts[kind] = requested, limited
        return nodes.pods_on_node(requested), nodes.pods_on_node(limited)

    def _by_load(
        self, nodes: NodeView, kind: str, capacity: Integers, requested: Integers, limited: Integers
    ) -> Floats:
        """The probability that more is used than the pods there request; 0 where nothing was measured."""
        unit = 1.0 if kind == CPU else MEGA
        offered = capacity.astype(np.float64) * unit
        average, deviation = self._load.average(nodes, kind), self._load.deviation(nodes, kind)
        with np.errstate(divide="ignore", invalid="ignore"):
            mu = np.where(offered > 0, np.clip(average * offered / 100 / offered, 0, 1), 0.0)
            sigma = np.where(offered > 0, np.clip(deviation * offered / 100 / offered, 0, 1), 0.0)
        risk = np.zeros(len(nodes))
        for i in np.flatnonzero(~np.isnan(average)).tolist():
            mean = float(mu[i])
            most = math.sqrt(mean * (1 - mean) * MOST_VARIANCE) if 0 < mean < 1 else 0.0
            spread = min(float(sigma[i]) * self._smoothing, most)
            risk[i] = 1 - _probability(mean, spread, int(requested[i]), int(limited[i]), int(capacity[i]))
        return risk


def _probability(mean: float, deviation: float, requested: int, limited: int, capacity: int) -> float:
    """That no more than `requested` is used, given that no more than `limited` is."""
    threshold = min(max(requested / capacity, 0.0), 1.0) if capacity else math.nan
    distribution = None
    if mean == 0 or (deviation == 0 and mean <= threshold):
        probability = 1.0
    elif deviation == 0:
        probability = 0.0
    else:
        distribution = Beta.with_moments(mean, deviation)
        probability = distribution.at_most(threshold) if distribution is not None else 0.0
    if limited < capacity and requested <= limited:
        if limited == 0:
            return 1.0
        if distribution is not None and (below := distribution.at_most(limited / capacity)) > 0:
            return min(max(probability / below, 0.0), 1.0)
    return probability
