"""Reading performance-config.yaml files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesched.apps.bench import opcodes
from kubesched.apps.bench.workload import load_workloads
from kubesched.errors import ConfigurationError

OURS = Path(__file__).parents[4] / "benchmarks"

CASES = """
- name: Spread
  featureGates: {A: true, B: false}
  labels: [spread]
  defaultPodTemplatePath: templates/pod.yaml
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - opcode: createPodSets
    countParam: $sets
    namespacePrefix: set
    createPodsOp: {opcode: createPods, countParam: $pods, collectMetrics: true}
  workloads:
  - {name: small, labels: [short], threshold: {dra: 7}, params: {nodes: 1, sets: 2, pods: 3}}
  - {name: large, featureGates: {B: true}, threshold: 5, params: {nodes: 10, sets: 20, pods: 30}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "area" / "performance-config.yaml"
    path.parent.mkdir()
    path.write_text(CASES)
    return path


def one(tmp_path: Path, operation: str, params: str = "{}", **case: str) -> Path:
    path = tmp_path / "performance-config.yaml"
    extra = "".join(f"\n  {name}: {value}" for name, value in case.items())
    workloads = f"\n  workloads: [{{name: w, params: {params}}}]"
    path.write_text(f"- name: c{extra}\n  workloadTemplate: [{operation}]{workloads}")
    return path


def test_parameters_are_filled_in_at_any_depth(file: Path) -> None:
    """`countParam: $pods` becomes a count, also inside createPodsOp."""
    small, large = load_workloads([file])
    assert small.operations[0] == opcodes.CreateNodes(count=1)
    assert large.operations[1] == opcodes.CreatePodSets(
        count=20, namespace_prefix="set", create_pods_op=opcodes.CreatePods(count=30, collect_metrics=True)
    )


def test_a_workload_overrides_and_adds_to_its_case(file: Path) -> None:
    """Gates of the workload win, labels add up, a threshold by topic counts as its value."""
    small, large = load_workloads([file])
    assert (small.full_name, small.labels, small.threshold) == ("Spread/small", frozenset(("spread", "short")), 7.0)
    assert (large.feature_gates, large.threshold) == ({"A": True, "B": True}, 5)
    assert small.folder == file.parent


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        pytest.param({}, ["small", "large"], id="all of a folder"),
        pytest.param({"pattern": "^Spread/l"}, ["large"], id="by a regular expression over CASE/NAME"),
        pytest.param({"labels": ["spread", "short"]}, ["small"], id="with all of the labels"),
        pytest.param({"pattern": "nothing"}, [], id="none matches"),
    ],
)
def test_workloads_are_chosen(file: Path, choice: dict[str, Any], names: list[str]) -> None:
    """By name and by label, from files or from folders."""
    found = load_workloads([file.parent.parent], **choice)
    assert [workload.name for workload in found] == names


@pytest.mark.parametrize(
    ("operation", "params", "problem"),
    [
        pytest.param("{opcode: createNodes, cuont: 1}", "{}", "unknown field `cuont`", id="a misspelt option"),
        pytest.param("{opcode: fly}", "{}", "fly", id="an unknown opcode"),
        pytest.param("{opcode: createNodes, count: many}", "{}", "Expected `int`", id="a value of another type"),
        pytest.param("{opcode: createNodes, countParam: $n}", "{}", "$n has no value", id="an undefined parameter"),
        pytest.param("{opcode: barrier}", "{n: 1}", "no operation uses the parameters n", id="an unused parameter"),
        pytest.param(
            "{opcode: createPods, collectMetrics: true, skipWaitToCompletion: true}",
            "{}",
            "exclude each other",
            id="options that exclude each other",
        ),
        pytest.param("{opcode: createPods, steadyState: true}", "{}", "needs a duration", id="a steady state for ever"),
        pytest.param(
            "{opcode: churn, mode: recreate, templatePaths: [a]}", "{}", "needs a number", id="recreating nothing"
        ),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, operation: str, params: str, problem: str) -> None:
    """Nothing is ignored silently."""
    with pytest.raises(ConfigurationError) as error:
        load_workloads([one(tmp_path, operation, params)])
    assert problem in error.value.problems[0]


def test_an_unknown_field_of_a_case_is_an_error(tmp_path: Path) -> None:
    """Not only operations are read strictly."""
    with pytest.raises(ConfigurationError, match="unknown field `colour`"):
        load_workloads([one(tmp_path, "{opcode: barrier}", colour="red")])


def test_bad_places_are_told(tmp_path: Path) -> None:
    """A file that is not there, and an expression that is none."""
    with pytest.raises(ConfigurationError, match="No such file"):
        load_workloads([tmp_path / "nowhere.yaml"])
    with pytest.raises(ConfigurationError, match="not a regular expression"):
        load_workloads([], pattern="(")


def test_our_own_workloads_can_be_read() -> None:
    """All of benchmarks/, and each case has a small workload or is a point of a plot."""
    workloads = load_workloads([OURS])
    cases = {workload.case for workload in workloads}
    covered = {workload.case for workload in workloads if workload.labels & {"small", "growth"}}
    assert cases == covered
