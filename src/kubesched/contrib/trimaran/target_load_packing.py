"""TargetLoadPacking: fill nodes up to a target utilisation of CPU, and spread what goes beyond it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from kubesched.contrib.trimaran.load_source import CPU, TrimaranArgs, load_source
from kubesched.contrib.trimaran.node_load import NodeLoad
from kubesched.contrib.trimaran.rounding import rounded
from kubesched.framework import (
    EVERYTHING,
    CycleState,
    DependsOn,
    Handle,
    Integers,
    Journal,
    NodeView,
    Pod,
    PodSpec,
    PodTemplate,
    Positions,
    Quantity,
    ScorePlugin,
)

NAME: Final = "TargetLoadPacking"
REPORTING_INTERVAL: Final = 60
"""Seconds after which a new pod is taken to be part of what was measured."""


class TargetLoadPackingArgs(TrimaranArgs, frozen=True):
    """`default_requests` is for containers that ask for nothing; requests without a limit are taken times so much."""

    default_requests: Mapping[str, Quantity] | None = None
    default_requests_multiplier: str = "1.5"
    target_utilization: int = 40


class _Usage:
    """The CPU that a pod is expected to use, in thousandths (PredictUtilisation)."""

    def __init__(self, args: TargetLoadPackingArgs) -> None:
        default = args.default_requests if args.default_requests is not None else {"cpu": Quantity.of_milli(1000)}
        self._default = default.get("cpu", Quantity.ZERO).milli_value()
        try:
            self._multiplier = float(args.default_requests_multiplier)
        except ValueError as error:
            raise args.refused(f"unable to parse DefaultRequestsMultiplier: {error}") from error

    def of(self, spec: PodSpec) -> int:
        overhead = spec.overhead.get("cpu", Quantity.ZERO).milli_value()
        return overhead + sum(self._of_container(c.resources.requests, c.resources.limits) for c in spec.containers)

    def _of_container(self, requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> int:
        if "cpu" in limits:
            return limits["cpu"].milli_value()
        if "cpu" in requests:
            return int(rounded(np.array([requests["cpu"].milli_value() * self._multiplier]))[0])
        return self._default


class _Bound(NamedTuple):
    at: float
    usage: int


class _NewPods:
    """Pods that came to their node so lately that they may not be measured yet, by node."""

    def __init__(self, handle: Handle, usage: _Usage) -> None:
        self._clock = handle.clock
        self._usage = usage
        self._on_node: dict[str, dict[str, _Bound]] = {}
        self.changes: Journal[str] = Journal()
        pods = handle.objects.of(Pod)
        pods.subscribe(self._changed)
        for pod in pods:
            self._changed(None, pod)

    def usage_since(self, start: float) -> dict[str, int]:
        """What pods that came after this time are expected to use together, by node."""
        return {
            node: sum(bound.usage for bound in pods.values() if int(bound.at) > start)
            for node, pods in self._on_node.items()
        }

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        before = old.spec.node_name if old is not None else ""
        if new is None:
            if before and self._on_node.get(before, {}).pop(old.metadata.uid if old else "", None) is not None:
                self.changes.append(before)
        elif new.spec.node_name and new.spec.node_name != before:
            bound = _Bound(self._clock.time(), self._usage.of(new.spec))
            self._on_node.setdefault(new.spec.node_name, {})[new.metadata.uid] = bound
            self.changes.append(new.spec.node_name)


class TargetLoadPacking(ScorePlugin):
    """The score rises to 100 at the target, falls steeply there, and is 0 where the node would be more than full."""

    name = NAME
    depends_on = DependsOn.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        chosen = TargetLoadPackingArgs.of(args)
        self._target = float(chosen.target_utilization if chosen.target_utilization > 0 else 40)
        self._usage = _Usage(chosen)
        self._source = load_source(chosen, handle)
        self._load = NodeLoad(self._source)
        self._new_pods = _NewPods(handle, self._usage)
        self._rows = handle.cluster.nodes.row_of

    def signature(self, pod: PodTemplate) -> Hashable:
        return self._usage.of(pod.spec)

    def external_version(self, pod: PodTemplate) -> Hashable:
        return (self._load.version, self._new_pods.changes.position)

    def score_changes(self, pod: PodTemplate, since: Any) -> Positions | None:
        """Between two measurements, only nodes to which pods came, or from which they left."""
        version, position = since
        names = self._new_pods.changes.since(position)
        if version != self._load.version or names is EVERYTHING:
            return None
        return np.array(sorted({self._rows[name] for name in names if name in self._rows}), dtype=np.intp)

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        percent, capacity = self._load.last(nodes, CPU), self._load.capacity(nodes)
        used = percent / 100 * capacity + float(self._usage.of(pod.spec)) + self._not_measured(nodes)
        with np.errstate(divide="ignore", invalid="ignore"):
            predicted = np.where(capacity != 0, 100 * used / capacity, 0.0)
        target = self._target
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = target * (100 - predicted) / (100 - target)
        below = (100 - target) * predicted / target + target
        scores = np.where(predicted > target, np.where(predicted > 100, 0.0, beyond), below)
        return rounded(np.where(np.isnan(percent), 0.0, scores))

    def _not_measured(self, nodes: NodeView) -> Integers:
        """What new pods of each node are expected to use, in thousandths of CPU."""
        column = np.zeros(len(nodes.table), dtype=np.int64)
        for name, usage in self._new_pods.usage_since(self._source.window_end() - REPORTING_INTERVAL).items():
            if (row := self._rows.get(name)) is not None:
                column[row] = usage
        return column[nodes.rows]
