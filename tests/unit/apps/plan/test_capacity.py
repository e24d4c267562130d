"""How many pods fit, what stops the next one, and which nodes would let more fit."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched import Simulation
from kubesched.apps.inputs.workloads import WorkloadManifest
from kubesched.apps.plan import node_mix
from kubesched.apps.plan.capacity import CapacityReport, MixPart, capacity
from kubesched.apps.plan.hypotheses import AddNodes
from kubesched.apps.plan.node_mix import cheapest_mix, nodes_needed
from kubesched.apps.plan.text import capacity_text, cheapest_text, needed_text
from kubesched.errors import ConfigurationError
from kubesched.objects import Node
from kubesched.testing import make_node, make_pod, make_pod_group


def part(name: str, pods: int = 1, **pod: Any) -> MixPart:
    return MixPart(WorkloadManifest("Pod", name, make_pod(name, **pod), 1), pods)


def simulation(*objects: Any, gates: str = "") -> Simulation:
    simulation = Simulation(feature_gates=gates)
    simulation.add(*objects)
    return simulation


def count(cluster: list[Any], *mix: MixPart, **more: Any) -> CapacityReport:
    with simulation(*cluster) as simulated:
        before = simulated.placements()
        report = capacity(simulated, mix, **more)
        assert capacity(simulated, mix, **more) == report
        assert simulated.placements() == before
        return report


A, B = make_node("a", cpu="4", memory="4Gi", labels={"pool": "x"}), make_node("b", cpu="2", labels={"pool": "y"})


@pytest.mark.parametrize(
    ("mix", "pods", "sets", "stopped_by"),
    [
        pytest.param([part("one", cpu="1")], 6, 6, "one", id="one spec"),
        pytest.param([part("one", cpu="3")], 1, 1, "one", id="what is left of a node is of no use"),
        pytest.param([part("big", cpu="2"), part("small", 2, cpu="500m")], 6, 2, "big", id="a mix by weights"),
        pytest.param([part("big", cpu="8"), part("small", cpu="1")], 0, 0, "big", id="nothing"),
        pytest.param(
            [part("big", cpu="2", priority=5), part("one", cpu="1", priority=9)],
            *(2, 1, "big"),
            id="by priority in a set",
        ),
    ],
)
def test_sets_are_added_until_one_pod_fits_nowhere(mix: list[MixPart], pods: int, sets: int, stopped_by: str) -> None:
    """Nodes of 4 and 2 CPUs."""
    report = count([A, B], *mix)
    assert (report.pods, report.sets, report.stopped_by) == (pods, sets, stopped_by)
    assert report.why.startswith("0/2 nodes are available: ")
    assert (
        sum(report.by_node.values()) == sum(report.by_workload.values()) == sum(g.pods for g in report.groups) == pods
    )


def test_nobody_is_preempted_and_those_who_wait_go_first() -> None:
    """Room that a waiting pod will take is not there for others."""
    report = count(
        [A, make_pod("waits", cpu="1"), make_pod("low", cpu="2", node="a", priority=-1)], part("p", cpu="1", priority=9)
    )
    assert report.pods == 1


def test_the_limit_is_told_for_every_group_of_nodes() -> None:
    """Grouped by their pools."""
    report = count([A, B], part("one", cpu="500m", memory="1Gi"))
    assert [(one.name, one.pods, one.limit, one.free["cpu"]) for one in report.groups] == [
        ("x", 4, "Insufficient memory", "2"),
        ("y", 4, "Insufficient cpu", "0"),
    ]
    assert "1      x  4      Insufficient memory  2 cpu, 0 memory" in capacity_text(report)


def test_as_many_as_asked_for() -> None:
    """Then nothing stopped it."""
    report = count([A, B], part("one", cpu="1"), most=2)
    assert (report.pods, report.stopped_by) == (2, "")
    assert capacity_text(report) == "2 pods fit, as many as were asked for"


def test_more_nodes_with_their_daemons() -> None:
    """A DaemonSet's pod takes its part of every new node."""
    agent = make_pod("agent", cpu="1", owner={"kind": "DaemonSet", "name": "agent", "uid": "agent"}, node="a")
    assert count([A, agent], part("one", cpu="1"), supposing=[AddNodes(2, "a")]).pods == 9


def test_gangs_fit_whole_or_not_at_all() -> None:
    """Every set is a group of its own."""
    group = make_pod_group("gang", min_count=4)
    with simulation(A, B, gates="GenericWorkload=true") as simulated:
        report = capacity(simulated, [part("worker", 4, cpu="1", group="gang")], [group])
    assert (report.sets, report.pods) == (1, 4)


def test_how_many_nodes_are_needed() -> None:
    """The least number: one fewer does not do."""
    with simulation(A, B) as simulated:
        report = nodes_needed(simulated, [part("one", cpu="1")], [], 20, "a")
        assert (report.nodes, report.one_fewer) == (4, 18)
        assert needed_text(report) == "20 sets fit with 4 nodes more like a; with 3, 18 fit"
        assert needed_text(nodes_needed(simulated, [part("one", cpu="1")], [], 2, "a")) == "2 sets fit already"
        with pytest.raises(ConfigurationError, match="1 more nodes do not help: one: 0/3 nodes are available"):
            nodes_needed(simulated, [part("one", cpu="9")], [], 2, "a")


def shape(name: str, price: str, **node: Any) -> Node:
    return make_node(name, annotations={"kubesched.io/price": price}, **node)


SHAPES = [shape("small", "1", cpu="2"), shape("large", "3.5", cpu="8")]


def test_the_cheapest_nodes_are_bought() -> None:
    """Small ones are cheap, but do not hold a pod of 3 CPUs."""
    with simulation(make_node("full", cpu="1")) as simulated:
        mix = [part("big", cpu="3"), part("one", 2, cpu="1")]
        report = cheapest_mix(simulated, mix, [], 4, SHAPES)
        assert {(one.shape, one.nodes) for one in report.nodes} == {("large", 2), ("small", 2)}
        assert report.cost == 9.0
        assert report.lower_bound <= report.cost
        assert "solved to its optimum" in cheapest_text(report)
        assert cheapest_mix(simulated, [part("one", cpu="1")], [], 1, SHAPES).cost == 0


def test_without_a_solver_a_greedy_mix_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is checked by the scheduler all the same."""
    monkeypatch.setattr(node_mix, "is_installed", lambda: False)
    with simulation(make_node("full", cpu="1")) as simulated:
        report = cheapest_mix(simulated, [part("big", cpu="3"), part("one", 2, cpu="1")], [], 4, SHAPES)
    assert "greedy, without a solver" in report.method
    assert report.lower_bound <= report.cost


@pytest.mark.parametrize(
    ("shapes", "problem"),
    [
        ([make_node("free")], "node free has no price: annotate it with kubesched.io/price"),
        ([shape("odd", "cheap")], "node odd has no price"),
        ([shape("tiny", "1", cpu="1")], "no number of such nodes lets all of these pods fit"),
    ],
)
def test_shapes_that_make_no_sense(shapes: list[Node], problem: str) -> None:
    """One line."""
    with simulation(make_node("full", cpu="1")) as simulated, pytest.raises(ConfigurationError, match=problem):
        cheapest_mix(simulated, [part("big", cpu="3")], [], 4, shapes)
