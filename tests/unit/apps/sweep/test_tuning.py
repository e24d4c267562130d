"""A search finds what is better, judges it on what it has not seen, and writes a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.apps.sweep.experiments import write_experiment

from kubesched.apps.sweep.store import JOURNAL
from kubesched.apps.sweep.tuning import tune
from kubesched.config import load_config_file
from kubesched.errors import ConfigurationError

TUNING = """
trace: {generate: spec.yaml, perSeed: true}
search:
  weights: {NodeResourcesFit: {from: 1, to: 9}}
  args: {NodeResourcesFit: {scoringStrategy.type: [LeastAllocated, MostAllocated]}}
objectives:
- minimise: nodes_in_use_mean
trials: 6
seeds: 1
heldOutSeeds: 6
"""


def test_packing_is_found_confirmed_and_written(tmp_path: Path) -> None:
    """Fewer nodes in use: on the held-out part as well, with six pairs of six."""
    report = tune(write_experiment(tmp_path, TUNING), tmp_path / "r", jobs=0)
    (candidate,) = report.candidates
    (improvement,) = candidate.improvements
    assert candidate.parameters["NodeResourcesFit.scoringStrategy.type"] == "MostAllocated"
    assert improvement.training[1] < improvement.training[0]
    assert report.is_confirmed(improvement)
    assert report.as_data()["candidates"][0]["improvements"][0]["confirmed"] is True
    config = load_config_file(Path(candidate.file))
    weights = {plugin.name: plugin.weight for plugin in config.profiles[0].plugins.multi_point.enabled}
    assert weights["NodeResourcesFit"] == candidate.parameters["NodeResourcesFit.weight"]


def test_a_stopped_search_goes_on_and_ends_alike(tmp_path: Path) -> None:
    """The search is seeded: it asks for the same trials, and finds them in its journal."""
    path = write_experiment(tmp_path, TUNING)
    whole = tune(path, tmp_path / "whole", jobs=0)
    lines = (tmp_path / "whole" / JOURNAL).read_text().splitlines(keepends=True)
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / JOURNAL).write_text("".join(lines[:4]))
    again = tune(path, tmp_path / "part", jobs=0)
    assert again.candidates[0].improvements == whole.candidates[0].improvements
    assert len((tmp_path / "part" / JOURNAL).read_text().splitlines()) == len(lines)


def test_what_is_not_better_is_said_to_be_not_better(tmp_path: Path) -> None:
    """An objective that no weight changes: no verdict of better, whatever the search chose."""
    text = TUNING.replace("nodes_in_use_mean", "pods_to_place").replace("heldOutSeeds: 6", "heldOutSeeds: 2")
    report = tune(write_experiment(tmp_path, text), tmp_path / "r", jobs=0)
    assert not any(report.is_confirmed(found) for candidate in report.candidates for found in candidate.improvements)


def test_several_objectives_give_those_that_no_other_beats(tmp_path: Path) -> None:
    """Fewer nodes, or more nodes: one configuration cannot have both."""
    text = TUNING.replace("trials: 6", "trials: 4").replace("heldOutSeeds: 6", "heldOutSeeds: 2")
    text = text.replace("- minimise: nodes_in_use_mean", "- minimise: nodes_in_use_mean\n- maximise: nodes_in_use_mean")
    report = tune(write_experiment(tmp_path, text), tmp_path / "r", jobs=0)
    assert len(report.candidates) >= 2
    assert all(Path(candidate.file).is_file() for candidate in report.candidates)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param("trials: 6", "trails: 6", "experiment.yaml:8: trails: unknown key", id="an unknown key"),
        pytest.param(
            "nodes_in_use_mean", "used", "experiment.yaml:7: objectives[0]: unknown metric 'used': there are pods_to_",
            id="an unknown metric",
        ),
        pytest.param("nodes_in_use_mean", "nodes +", "'nodes +' is no formula", id="no formula"),
        pytest.param("minimise: nodes_in_use_mean", "{}", "expected either minimise or maximise", id="neither"),
        pytest.param("{from: 1, to: 9}", "{from: 9, to: 1}", "from must be below to", id="a range backwards"),
        pytest.param("{from: 1, to: 9}", "4", "has one value only", id="nothing to choose"),
        pytest.param("  weights: {NodeR", "  weights: {NoSuchR", "NoSuchResourcesFit", id="no such plugin"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """With file and line; a metric that there is none of, after the first run."""
    path = write_experiment(tmp_path, TUNING.replace(old, new))
    with pytest.raises(ConfigurationError) as caught:
        tune(path, tmp_path / "r", jobs=0)
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]
