from __future__ import annotations

from collections.abc import Sequence

import pytest

from kubesched.errors import PluginError
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import (
    Code,
    Placement,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodGroupAssignments,
    PodGroupInfo,
    Status,
)
from kubesched.scheduler.runtime.placements import Placements

GROUP = PodGroupInfo("default", "g")
EVERYWHERE = Placement("", ClusterTables().view())


class Generator(PlacementGeneratePlugin):
    name = "Generator"

    def __init__(self, answer: tuple[Sequence[Placement], Status] | None) -> None:
        self._answer = answer

    def generate_placements(self, group: PodGroupInfo, within: Placement) -> tuple[Sequence[Placement], Status]:
        if self._answer is None:
            raise ValueError("broken")
        return self._answer


class Scorer(PlacementScorePlugin):
    name = "Scorer"

    def __init__(self, *scores: int) -> None:
        self._scores = iter(scores)

    def score_placement(self, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        return next(self._scores)


@pytest.mark.parametrize(
    ("generator", "count", "code", "message"),
    [
        pytest.param(None, 1, Code.SUCCESS, "", id="without a plugin, all nodes together"),
        pytest.param(Generator(([EVERYWHERE] * 2, Status())), 2, Code.SUCCESS, "", id="what the plugin offers"),
        pytest.param(
            Generator(([], Status())), 0, Code.UNSCHEDULABLE, "no feasible placements found", id="it offers nothing"
        ),
        pytest.param(Generator(([], Status.failed("gone"))), 0, Code.ERROR, "gone", id="it fails"),
        pytest.param(
            Generator(None),
            0,
            Code.ERROR,
            "plugin Generator at PlacementGenerate: ValueError: broken",
            id="it raises",
        ),
    ],
)
def test_generate(generator: Generator | None, count: int, code: Code, message: str) -> None:
    """A group is tried in each placement."""
    placements, status = Placements(generator, []).generate(GROUP, EVERYWHERE)
    assert (len(placements), status.code) == (count, code)
    assert status.message.partition(" (test_placements.py:")[0] == message


def test_scores_are_weighted_and_added_up() -> None:
    """As those of nodes are."""
    feasible = [PodGroupAssignments(EVERYWHERE, {})] * 2
    assert Placements(None, [(Scorer(10, 20), 2), (Scorer(5, 0), 1)]).score(GROUP, feasible) == [25, 40]


@pytest.mark.parametrize("scorer", [Scorer(), Scorer(101), Scorer(-1)], ids=["it raises", "too high", "too low"])
def test_a_broken_scorer(scorer: Scorer) -> None:
    """The attempt fails with a clear error."""
    with pytest.raises(PluginError, match="plugin Scorer at PlacementScore"):
        Placements(None, [(scorer, 1)]).score(GROUP, [PodGroupAssignments(EVERYWHERE, {})])
