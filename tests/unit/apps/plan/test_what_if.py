"""What happens to pods when hypotheses come true: a table of small clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.apps.plan.hypotheses import (
    AddNodes,
    Apply,
    ChangeNode,
    Configure,
    Cordon,
    Delete,
    Drain,
    Hypothesis,
    Remove,
    Scale,
)
from kubesched.apps.plan.text import each_text, what_if_text
from kubesched.apps.plan.what_if import WhatIfReport
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod, PodDisruptionBudget, convert
from kubesched.objects.affinity import Taint
from kubesched.testing import make_node, make_pod

WEB = {"kind": "ReplicaSet", "name": "web", "uid": "web"}


def web(number: int, node: str = "", **more: Any) -> Pod:
    return make_pod(f"web-{number}", labels={"app": "web"}, owner=WEB, node=node, **{"cpu": "1", **more})


def budget(**spec: Any) -> PodDisruptionBudget:
    manifest = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }
    return convert(manifest, PodDisruptionBudget)


def run(objects: list[Any], *hypotheses: Hypothesis) -> WhatIfReport:
    with Simulation() as simulation:
        simulation.add(*objects)
        before = simulation.placements()
        report = simulation.what_if(*hypotheses)
        assert simulation.placements() == before  # nothing is changed
        return report


def moves(report: WhatIfReport) -> dict[str, str]:
    return {one.pod.removeprefix("default/"): f"{one.before} → {one.node}" for one in report.moved}


ALL_FULL = ["a", "a", "a", *["a-new-1"] * 4, "b", "b"]
NO_EXECUTE: dict[str, Taint | None] = {"x": Taint(key="x", effect="NoExecute")}
A, B = make_node("a", cpu="4", zone="x"), make_node("b", cpu="4", zone="y")


def test_pods_of_a_drained_node_start_elsewhere() -> None:
    """Those of DaemonSets stay, and those that nobody owns are gone for good."""
    agent = make_pod("agent", owner={"kind": "DaemonSet", "name": "agent", "uid": "agent"}, node="a")
    report = run([A, B, web(1, "a"), agent, make_pod("bare", node="a")], Drain("a"))
    assert moves(report) == {"web-1": "a → b"}
    assert [(one.pod, one.why) for one in report.gone] == [("default/bare", "evicted: nothing recreates it")]
    assert report.spread == ()


@pytest.mark.parametrize(
    ("spec", "moved", "why"),
    [
        pytest.param({"minAvailable": 2}, ["web-1", "web-2"], "", id="one after the other"),
        pytest.param({"minAvailable": "50%"}, ["web-1", "web-2"], "", id="a percentage"),
        pytest.param({"minAvailable": 3}, [], "needs 3 healthy pods and has 3 currently", id="none may go"),
        pytest.param({"maxUnavailable": 0}, [], "needs 3 healthy pods and has 3 currently", id="none may be missing"),
    ],
)
def test_budgets_hold_at_every_moment(spec: dict[str, Any], moved: list[str], why: str) -> None:
    """A budget that allows one eviction allows the next when the first pod's successor runs."""
    report = run([A, B, web(1, "a"), web(2, "a"), web(3, "b"), budget(**spec)], Drain("a"))
    assert list(moves(report)) == moved
    assert all(why in one.why for one in report.blocked)
    assert len(report.blocked) + len(moved) == 2


def test_two_budgets_for_one_pod_are_the_api_servers_problem() -> None:
    """It refuses such evictions, so we say so."""
    other = convert(
        {"metadata": {"name": "all", "namespace": "default"}, "spec": {"selector": {}}}, PodDisruptionBudget
    )
    report = run([A, B, web(1, "a"), budget(minAvailable=0), other], Drain("a"))
    assert "more than one PodDisruptionBudget" in report.blocked[0].why


def test_a_drain_stops_where_successors_find_no_room() -> None:
    """The budget is not given back by a pod that waits."""
    report = run([A, make_node("b", cpu="1"), web(1, "a"), web(2, "a"), budget(maxUnavailable=1)], Drain("a"))
    assert moves(report) == {"web-1": "a → b"}
    assert [(one.pod, one.before) for one in report.waiting] == [("default/web-2", "a")]
    assert report.waiting[0].why.startswith("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable")


def test_who_is_preempted_waits_or_is_gone() -> None:
    """A pod of higher priority takes the place of others; their controllers make them again."""
    low = [web(2, "b", cpu="2"), make_pod("bare", cpu="2", node="b")]
    report = run([A, B, web(1, "a", priority=10, cpu="4"), *low], Remove("a"))
    assert moves(report) == {"web-1": "a → b"}
    assert {(one.pod, one.by) for one in report.preempted} == {
        ("default/web-2", "default/web-1"),
        ("default/bare", "default/web-1"),
    }
    assert [one.pod for one in report.newly_waiting] == ["default/web-2"]
    assert [one.pod for one in report.gone] == ["default/bare"]


@pytest.mark.parametrize(
    ("hypotheses", "moved", "started", "waiting"),
    [
        pytest.param([Cordon("a"), Scale("rs/web", 5)], [], ["b", "b"], 0, id="cordoned nodes take nobody"),
        pytest.param([Scale("rs/web", 1)], [], [], 0, id="scaled down"),
        pytest.param([Scale("rs/web", 12)], [], ["a", "a", "a", "b", "b"], 4, id="scaled up to more than fits"),
        pytest.param([AddNodes(1, "a"), Scale("rs/web", 12)], [], ALL_FULL, 0, id="room for it"),
        pytest.param([Scale("rs/web", 12), AddNodes(1, "a")], [], ALL_FULL, 0, id="room later"),
        pytest.param([Remove("topology.kubernetes.io/zone=y")], ["a", "a"], [], 0, id="a zone"),
        pytest.param([ChangeNode("b", taints=NO_EXECUTE)], ["a", "a"], [], 0, id="a taint"),
        pytest.param([ChangeNode("a", labels={"k": ""}, allocatable={"cpu": "1"}), Remove("b")], [], [], 2, id="less"),
        pytest.param([Delete("pod/web-1")], ["a"], [], 0, id="a pod is made again"),
        pytest.param([Delete("node/b")], ["a", "a"], [], 0, id="a node"),
        pytest.param([Apply([make_pod("new", cpu="2")])], [], ["a"], 0, id="manifests"),
    ],
)  # fmt: skip
def test_hypotheses(hypotheses: list[Hypothesis], moved: list[str], started: list[str], waiting: int) -> None:
    """web-1 is on a, two others on b, both of 4 CPUs; where pods end, and how many wait."""
    report = run([A, B, web(1, "a"), web(2, "b"), web(3, "b")], *hypotheses)
    assert sorted(one.node for one in report.moved) == moved
    assert sorted(one.node for one in report.started) == started
    assert len(report.newly_waiting) == waiting


def test_the_crowded_node_is_scaled_down_first() -> None:
    """As a ReplicaSet does; a StatefulSet goes from the end."""
    report = run([A, B, web(1, "a"), web(2, "b"), web(3, "b")], Scale("rs/web", 2))
    assert [one.pod for one in report.gone] == ["default/web-2"]
    stateful = [
        make_pod(f"db-{i}", owner={"kind": "StatefulSet", "name": "db", "uid": "db"}, node="a") for i in range(11)
    ]
    report = run([A, B, *stateful], Scale("sts/db", 9))
    assert {one.pod for one in report.gone} == {"default/db-9", "default/db-10"}


def test_daemons_come_with_new_nodes() -> None:
    """What a DaemonSet takes of a node like this is not there for others."""
    agent = make_pod("agent", cpu="3", owner={"kind": "DaemonSet", "name": "agent", "uid": "agent"}, node="a")
    report = run([A, agent], AddNodes(1, "a"), Apply([make_pod("new", cpu="2")]))
    assert [one.pod for one in report.waiting] == ["default/new"]


def test_another_configuration_decides_from_there_on(tmp_path: Path) -> None:
    """Packed nodes, where pods were spread before."""
    config = tmp_path / "packed.yaml"
    config.write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{pluginConfig: ["
        "{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]}"
    )
    nodes = [make_node(name, cpu="8") for name in ("a", "b", "c")]
    objects = [*nodes, web(1, "a", cpu="2"), web(2, "b"), web(3, "c")]
    assert moves(run(objects, Drain("c"))) == {"web-3": "c → b"}
    report = run(objects, Delete("pod/web-2"), Configure(config), Drain("c"))
    assert moves(report) == {"web-2": "b → b", "web-3": "c → a"}


def test_ties_are_told_beforehand() -> None:
    """Equal nodes: the first by name stands for any of them, and what follows may differ."""
    nodes = [make_node(name, cpu="4") for name in "abc"]
    report = run([*nodes, web(1, "a"), web(2, "a")], Drain("a"))
    assert [(one.node, one.tied, one.after_tie) for one in report.moved] == [("b", ("b", "c"), False), ("c", (), True)]
    assert "or as good c" in what_if_text(report)
    assert "1 placement left to chance; 1 decided after one may differ with it" in what_if_text(report)


def test_every_single_loss_is_ranked() -> None:
    """The zone that cannot be lost first."""
    objects = [
        A,
        B,
        make_node("c", cpu="4", zone="y"),
        web(1, "a", cpu="3"),
        web(2, "b", cpu="3"),
        web(3, "c", cpu="3"),
    ]
    with Simulation() as simulation:
        simulation.add(*objects)
        by_zone = simulation.what_if_each("zone")
        assert [(loss.what, len(loss.waiting)) for loss in by_zone.losses] == [("y", 2), ("x", 1)]
        assert "losing one of 2 zones: 0 would cost nothing but restarts" in each_text(by_zone)
        assert len(simulation.what_if_each("node").losses) == 3
        with pytest.raises(ConfigurationError, match="no node has the label pool"):
            simulation.what_if_each("pool")


@pytest.mark.parametrize(
    ("hypothesis", "problem"),
    [
        (Drain("nope"), "no node is named 'nope', and none has such labels"),
        (Drain("a b!"), "no node is named 'a b!', and it is no label selector: "),
        (AddNodes(0, "a"), "cannot add 0 nodes"),
        (Scale("web", 3), "'web' is no workload: write deploy/NAME"),
        (Scale("deploy/other", 3), "deploy/other has no pod that more could be like: apply its manifest instead"),
        (Scale("pod/web-1", 3), "pod/web-1 cannot be scaled"),
        (Delete("deploy/other"), "deploy/other: there is no such pod or workload with pods"),
        (ChangeNode("a", allocatable={"cpu": "many"}), "cpu=many: "),
    ],
)
def test_what_makes_no_sense_is_one_line(hypothesis: Hypothesis, problem: str) -> None:
    """And the simulation is as it was."""
    with pytest.raises(ConfigurationError) as caught:
        run([A, B, web(1, "a")], hypothesis)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
