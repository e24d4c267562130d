"""Cheap nodes first: a node's label says what an hour of it costs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from kubesched.framework import MAX_SCORE, CycleState, DependsOn, Handle, Integers, NodeInfo, PodTemplate, ScorePlugin
from kubesched.objects import Pod


class Cheapest(ScorePlugin):
    """The cheapest of the nodes that fit gets 100, the dearest 0, and the others what lies between.

    `defaultPrice` holds for nodes without the label, and for those whose label is no number.
    """

    name = "Cheapest"
    depends_on = DependsOn.NODE
    normalizes_by_value = True

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        self._label = (args or {}).get("label", "example.com/price-per-hour")
        self._default = float((args or {}).get("defaultPrice", 1))

    def signature(self, pod: PodTemplate) -> Hashable:
        return "any pod"  # a node costs the same for each

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """The raw score is the price in hundredths of a cent, below zero: more is worse."""
        return -round(self._price(node.labels.get(self._label)) * 10_000)

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        lowest, highest = int(scores.min()), int(scores.max())
        if lowest == highest:
            return np.full_like(scores, MAX_SCORE)
        return (scores - lowest) * MAX_SCORE // (highest - lowest)

    def _price(self, label: str | None) -> float:
        try:
            return float(label or self._default)
        except ValueError:
            return self._default
