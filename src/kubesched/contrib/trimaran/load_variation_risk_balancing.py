"""LoadVariationRiskBalancing: prefer nodes with little load and little variation of it.

risk = (average + margin · deviation^(1/sensitivity)) / 2
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import numpy as np

from kubesched.contrib.trimaran.load_source import CPU, MEMORY, TrimaranArgs, load_source
from kubesched.contrib.trimaran.node_load import NodeLoad
from kubesched.contrib.trimaran.pod_usage import asked
from kubesched.contrib.trimaran.rounding import rounded
from kubesched.framework import (
    MAX_SCORE,
    CycleState,
    DependsOn,
    Floats,
    Handle,
    Integers,
    NodeView,
    PodTemplate,
    ScorePlugin,
)

NAME: Final = "LoadVariationRiskBalancing"
MEGA: Final = 1.0 / 1024.0 / 1024.0


class LoadVariationRiskBalancingArgs(TrimaranArgs, frozen=True):
    """A negative value means the default."""

    safe_variance_margin: float = 1.0
    safe_variance_sensitivity: float = 1.0


class LoadVariationRiskBalancing(ScorePlugin):
    """The riskier of CPU and memory decides."""

    name = NAME
    depends_on = DependsOn.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        chosen = LoadVariationRiskBalancingArgs.of(args)
        self._margin = chosen.safe_variance_margin if chosen.safe_variance_margin >= 0 else 1.0
        self._sensitivity = chosen.safe_variance_sensitivity if chosen.safe_variance_sensitivity >= 0 else 1.0
        self._load = NodeLoad(load_source(chosen, handle))

    def signature(self, pod: PodTemplate) -> Hashable:
        return asked(pod).requests

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._load.version

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        requests = asked(pod).requests
        cpu_capacity = nodes.allocatable("cpu").astype(np.float64)
        memory_capacity = nodes.allocatable("memory").astype(np.float64) * MEGA
        cpu = self._score(nodes, CPU, cpu_capacity, float(requests.cpu))
        memory = self._score(nodes, MEMORY, memory_capacity, float(requests.memory) * MEGA)
        total = np.where(np.isnan(cpu), memory, np.where(np.isnan(memory), cpu, np.minimum(cpu, memory)))
        return rounded(np.nan_to_num(np.maximum(total, 0.0)))

    def _score(self, nodes: NodeView, kind: str, capacity: Floats, requested: float) -> Floats:
        """NaN where nothing was measured."""
        average = self._load.average(nodes, kind) * capacity / 100
        deviation = self._load.deviation(nodes, kind) * capacity / 100
        with np.errstate(divide="ignore", invalid="ignore"):
            mu = np.clip((np.clip(average, 0, capacity) + max(requested, 0.0)) / capacity, 0, 1)
            sigma = np.clip(np.clip(deviation, 0, capacity) / capacity, 0, 1)
            root = np.power(sigma, np.divide(1.0, self._sensitivity))
        sigma = np.clip(root * self._margin, 0, 1)
        score = (1.0 - (mu + sigma) / 2) * MAX_SCORE
        return np.where(np.isnan(average), np.nan, np.where(capacity > 0, score, 0.0))
