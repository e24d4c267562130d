"""PodGroupPodsCount: the placement that holds most pods of a group is best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubesched.errors import PluginError
from kubesched.scheduler.framework import MAX_SCORE, Handle, PlacementScorePlugin, PodGroupAssignments, PodGroupInfo

NAME: Final = "PodGroupPodsCount"
NOBODY_PLACED: Final = "no pods from pod group are assigned to any of the candidate placements"


class PodGroupPodsCount(PlacementScorePlugin):
    """Counts the pods that have a node already, too: so a small difference in number stays small in score."""

    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def score_placement(self, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        state = self._handle.pod_groups.get(group.namespace, group.name)
        return (state.scheduled_count if state is not None else 0) + len(assignments.proposed)

    def normalize_placement_scores(self, group: PodGroupInfo, scores: Sequence[int]) -> Sequence[int]:
        most = max(scores, default=0)
        if most == 0:
            raise PluginError(NAME, "PlacementScore", NOBODY_PLACED)
        return [score * MAX_SCORE // most for score in scores]
