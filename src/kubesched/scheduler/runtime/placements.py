"""The extension points of a pod group's placement."""

from __future__ import annotations

from collections.abc import Sequence

from kubesched.errors import PluginError
from kubesched.scheduler.framework import (
    MAX_SCORE,
    SUCCESS,
    Code,
    Placement,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementProgress,
    PlacementScorePlugin,
    PodGroupAssignments,
    PodGroupInfo,
    Status,
)

NO_PLACEMENTS = "no feasible placements found"


class Placements:
    """A profile's plugins that say where a whole group could go, and which of these places is best."""

    def __init__(
        self,
        generator: PlacementGeneratePlugin | None,
        scorers: Sequence[tuple[PlacementScorePlugin, int]],
        judges: Sequence[PlacementFeasiblePlugin] = (),
    ) -> None:
        self._generator = generator
        self._scorers = scorers
        self._judges = judges

    def generate(self, group: PodGroupInfo, everywhere: Placement) -> tuple[Sequence[Placement], Status]:
        """The placements to try: without a plugin, all nodes together."""
        plugin = self._generator
        if plugin is None:
            return [everywhere], SUCCESS
        try:
            placements, status = plugin.generate_placements(group, everywhere)
        except Exception as error:
            return [], Status.failed(PluginError.raised(plugin.name, "PlacementGenerate", error))
        if status.is_success and not placements:
            status = Status.unschedulable(NO_PLACEMENTS)
        return placements, status if status.is_success else status.by(plugin.name)

    def feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        """Whether the group can be placed, given how far it has come (RunPlacementFeasiblePlugins)."""
        answer = SUCCESS
        for plugin in self._judges:
            try:
                status = plugin.placement_feasible(group, progress)
            except Exception as error:
                status = Status.failed(PluginError.raised(plugin.name, "PlacementFeasible", error))
            if status.is_wait:
                answer = status.by(plugin.name)
            elif status.code is Code.UNSCHEDULABLE:
                return status.by(plugin.name)
            elif status.code is Code.ERROR:
                return Status.failed(f"running PlacementFeasible plugin: {status.message}").by(plugin.name)
            elif not status.is_success:
                return Status.failed(f"unexpected status from PlacementFeasible plugin: {status.code}").by(plugin.name)
        return answer

    def score(self, group: PodGroupInfo, feasible: Sequence[PodGroupAssignments]) -> list[int]:
        """The total of all plugins for each feasible placement. Raises PluginError if a plugin fails."""
        totals = [0] * len(feasible)
        for plugin, weight in self._scorers:
            try:
                raw = [plugin.score_placement(group, assignments) for assignments in feasible]
                scores = plugin.normalize_placement_scores(group, raw)
            except Exception as error:
                raise PluginError.raised(plugin.name, "PlacementScore", error) from error
            for position, score in enumerate(scores):
                if not 0 <= score <= MAX_SCORE:
                    problem = f"returns an invalid score {score}, it should in the range of [0, {MAX_SCORE}]"
                    raise PluginError(plugin.name, "PlacementScore", f"{problem} after normalizing")
                totals[position] += score * weight
        return totals
