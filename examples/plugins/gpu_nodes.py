"""GPU nodes are for pods that ask for GPUs; others go there only if there is no room elsewhere."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from kubesched.framework import (
    MAX_SCORE,
    SKIP,
    SUCCESS,
    CycleState,
    DependsOn,
    Handle,
    Integers,
    NodeView,
    PodInfo,
    PodTemplate,
    PreScorePlugin,
    ScorePlugin,
    Status,
)


class SpareGpuNodes(PreScorePlugin, ScorePlugin):
    """Over all nodes at once: an array of what they have, an array of scores."""

    name = "SpareGpuNodes"
    depends_on = DependsOn.NODE

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        self._resource = (args or {}).get("resource", "nvidia.com/gpu")

    def signature(self, pod: PodTemplate) -> Hashable:
        return self._asks_for_gpus(pod)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SKIP if self._asks_for_gpus(pod.template) else SUCCESS

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        return np.where(nodes.allocatable(self._resource) > 0, 0, MAX_SCORE)

    def _asks_for_gpus(self, pod: PodTemplate) -> bool:
        return bool(pod.requests.get(self._resource))
