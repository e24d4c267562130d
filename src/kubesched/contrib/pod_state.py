"""PodState: prefer nodes that pods are leaving to nodes that pods are about to come to."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from kubesched.contrib.normalizing import spread
from kubesched.framework import CycleState, DependsOn, Handle, Integers, NodeView, PodCount, PodTemplate, ScorePlugin

NAME: Final = "PodState"


class PodState(ScorePlugin):
    """Scores by the number of terminating pods less the number of pods that are nominated to the node."""

    name = NAME
    depends_on = DependsOn.NODE_AND_PODS
    normalizes_by_value = True

    def __init__(self, args: Any, handle: Handle) -> None:
        self._nominator = handle.nominator
        self._staying: PodCount | None = None  # held on to, so that it is kept up to date

    def signature(self, pod: PodTemplate) -> Hashable:
        return "any pod"

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._nominator.changes.position

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        self._staying = nodes.count((NAME, "staying"), lambda template: 1, counts_terminating=False)
        scores = nodes.pod_count - nodes.pods_on_node(self._staying)
        for name in self._nominator.node_names():
            position = nodes.position_of(name)
            if position is not None:
                scores[position] -= len(self._nominator.on_node(name))
        return scores

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return spread(scores)
