"""Looking at a part of the nodes only, where the configuration asks for it (percentageOfNodesToScore)."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.scheduler.engine import FeasibleNodes
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.state.cache import Cache

FEWEST_NODES: Final = 100
LOWEST_PERCENTAGE: Final = 5


class Sampler:
    """Takes feasible nodes in zone round-robin order, each pod starting where the last one stopped.

    `percentage` holds for profiles that set none. Unset in both places, every node is looked at: the engine is made
    for that. An explicit 0 asks for Kubernetes' adaptive percentage.
    """

    def __init__(self, cache: Cache, percentage: int | None = None) -> None:
        self._cache = cache
        self._percentage = percentage
        self._start = 0
        self._rows: np.ndarray[tuple[int], np.dtype[np.intp]] = np.empty(0, dtype=np.intp)
        self._version = -1

    def apply(self, fit: FeasibleNodes, profile: Profile) -> None:
        """Keep the first feasible nodes, as many as the percentage asks for."""
        percentage = profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self._percentage
        if percentage is None or percentage >= 100:
            return
        rows = self._order()
        wanted = nodes_to_find(percentage, fit.evaluated)
        turned = np.roll(rows, -self._start)
        feasible = np.flatnonzero(fit.takes(turned))
        if len(feasible) > wanted:
            fit.keep_only(turned[feasible[:wanted]])
            looked_at = int(feasible[wanted - 1]) + 1
        else:
            looked_at = len(rows)
        self._start = (self._start + looked_at) % max(1, len(rows))

    def _order(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        tree = self._cache.node_tree
        if tree.version != self._version:
            row_of = self._cache.cluster.nodes.row_of
            self._rows = np.array([row_of[name] for name in tree.order()], dtype=np.intp)
            self._version = tree.version
        return self._rows


def nodes_to_find(percentage: int, nodes: int) -> int:
    """How many feasible nodes suffice (numFeasibleNodesToFind)."""
    if nodes < FEWEST_NODES:
        return nodes
    if percentage == 0:
        percentage = max(LOWEST_PERCENTAGE, 50 - nodes // 125)
    return max(FEWEST_NODES, nodes * percentage // 100)
