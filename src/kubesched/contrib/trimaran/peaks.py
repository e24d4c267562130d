"""Peaks: prefer nodes whose power draw grows least by a pod.

power = k0 + k1 · e^(k2 · utilisation)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np

from kubesched.contrib.trimaran.load_source import CPU, LoadWatcher
from kubesched.contrib.trimaran.node_load import NodeLoad
from kubesched.framework import (
    MAX_SCORE,
    CycleState,
    DependsOn,
    Floats,
    Handle,
    Integers,
    NodeView,
    PluginArgs,
    PodTemplate,
    Quantity,
    ScorePlugin,
)

NAME: Final = "Peaks"
_UNITS: Final = 10.0**15
"""A raw score counts these parts of a watt: whole numbers that are still exact enough."""


class PowerModel(PluginArgs, frozen=True):
    k0: float = 0.0
    k1: float = 0.0
    k2: float = 0.0


class PeaksArgs(PluginArgs, frozen=True):
    """The power model of each node, by its name; a node without one is taken to draw nothing."""

    watcher_address: str = ""
    node_power_model: Mapping[str, PowerModel] = {}

    def problems(self) -> list[str]:
        found = [] if self.watcher_address else ["invalid MetricProvider.Type, got "]
        return found if self.node_power_model else [*found, "nodePowerModel: no node has a power model"]


class Peaks(ScorePlugin):
    """Scores by the jump in power; a node that the pod would overload counts as one without a jump, as upstream."""

    name = NAME
    depends_on = DependsOn.NODE
    normalizes_by_value = True

    def __init__(self, args: Any, handle: Handle) -> None:
        chosen = PeaksArgs.of(_with_field_names(args))
        self._models = chosen.node_power_model
        self._load = NodeLoad(LoadWatcher(handle, chosen.watcher_address))

    def signature(self, pod: PodTemplate) -> Hashable:
        return _requested(pod)

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._load.version

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        now, capacity = self._load.first(nodes, CPU), self._load.capacity(nodes)
        with np.errstate(divide="ignore", invalid="ignore"):
            predicted = np.where(capacity != 0, 100 * (now / 100 * capacity + _requested(pod)) / capacity, 0.0)
        k1, k2 = self._coefficients(nodes)
        jump = k1 * (np.exp(k2 * predicted) - np.exp(k2 * now))
        return np.where(np.isnan(now) | (predicted > 100), 0.0, jump * _UNITS).astype(np.int64)

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        """The smallest jump becomes 100."""
        lowest, highest = (scores.min(), scores.max()) if len(scores) else (0, 0)
        if lowest == highest == 0:
            return scores
        if lowest == highest:
            return np.full_like(scores, MAX_SCORE)
        shares = float(MAX_SCORE) * (scores - lowest).astype(np.float64) / float(highest - lowest)
        return MAX_SCORE - shares.astype(np.int64)

    def _coefficients(self, nodes: NodeView) -> tuple[Floats, Floats]:
        columns = np.zeros((2, len(nodes.table)))
        for name, model in self._models.items():
            if (row := nodes.table.row_of.get(name)) is not None:
                columns[:, row] = model.k1, model.k2
        return columns[0][nodes.rows], columns[1][nodes.rows]


def _requested(pod: PodTemplate) -> int:
    """Thousandths of CPU; the overhead of a pod that requests nothing does not count."""
    requested = pod.requests.get("cpu", 0)
    return 0 if requested == pod.spec.overhead.get("cpu", Quantity.ZERO).milli_value() else requested


def _with_field_names(args: Any) -> Any:
    """Upstream's fields have no names of their own in files: there, they are written as in Go."""
    names = {"WatcherAddress": "watcherAddress", "NodePowerModel": "nodePowerModel"}
    return {names.get(key, key): value for key, value in args.items()} if isinstance(args, Mapping) else args
