"""NodeResourcesAllocatable: prefer nodes with the least (or most) allocatable resources, whatever is in use there."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import msgspec
import numpy as np

from kubesched.contrib.normalizing import spread
from kubesched.framework import (
    FIXED,
    CycleState,
    DependsOn,
    Handle,
    Integers,
    NodeView,
    PluginArgs,
    PodTemplate,
    ScorePlugin,
    is_scalar_resource,
)

NAME: Final = "NodeResourcesAllocatable"
LEAST: Final = "Least"
MOST: Final = "Most"
_COUNTED: Final = ("cpu", "memory", "ephemeral-storage")
"""Besides these, resources with a domain in their name, huge pages and attachable volumes count; others are 0."""


class ResourceWeight(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    weight: int = 0


class NodeResourcesAllocatableArgs(PluginArgs, frozen=True):
    """A millicore weighs as much as a mebibyte, unless `resources` says otherwise."""

    resources: tuple[ResourceWeight, ...] = ()
    mode: str = LEAST

    def problems(self) -> list[str]:
        problems = [
            f"resources[{i}].weight: Invalid value: {one.weight}: "
            f"resource weight of {one.name} should be a positive value, got :{one.weight}"
            for i, one in enumerate(self.resources)
            if one.weight <= 0
        ]
        if self.mode not in ("", LEAST, MOST):
            problems.append(f'mode: Invalid value: "{self.mode}": invalid support ModeType')
        return problems


class NodeResourcesAllocatable(ScorePlugin):
    """Scores by the weighted sum of allocatable resources."""

    name = NAME
    depends_on = DependsOn.NODE
    normalizes_by_value = True

    def __init__(self, args: Any, handle: Handle) -> None:
        chosen = NodeResourcesAllocatableArgs.of(args)
        self._weights = {one.name: one.weight for one in chosen.resources} or {"cpu": 1 << 20, "memory": 1}
        self._sign = 1 if chosen.mode == MOST else -1

    def signature(self, pod: PodTemplate) -> Hashable:
        return "any pod"

    def external_version(self, pod: PodTemplate) -> Hashable:
        return FIXED

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        total = np.zeros(len(nodes), dtype=np.int64)
        for resource, weight in self._weights.items():
            if resource in _COUNTED or is_scalar_resource(resource):
                total += nodes.allocatable(resource) * weight
        return self._sign * (total // sum(self._weights.values()))

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return spread(scores)
