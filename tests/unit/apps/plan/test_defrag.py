"""Plans of moves: the fewest, in a legal order, with a proof where there is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.apps.plan.defrag.goals import Cost, DrainNodes, Fit, FreeNodes, Goal, Rebalance, cost_function
from kubesched.apps.plan.defrag.plan import DefragPlan, defrag
from kubesched.apps.plan.defrag.text import plan_shell, plan_text
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pdb, make_pod

JOB = {"kind": "Job", "name": "train", "uid": "train"}
GPU = "nvidia.com/gpu"


def gpu(name: str, number: int, node: str = "", **more: Any) -> Pod:
    return make_pod(name, requests={GPU: number}, node=node, **{"owner": JOB, **more})


NODES = [make_node(f"g{i}", cpu="64", resources={GPU: 8}) for i in range(4)]
PODS = [
    *(gpu("a", 4, "g0"), gpu("b", 2, "g0"), gpu("c", 4, "g1"), gpu("d", 1, "g1"), gpu("e", 6, "g2")),
    *(gpu("f", 2, "g3"), gpu("g", 1, "g3")),
]


def plan(goal: Goal, *objects: Any, **more: Any) -> DefragPlan:
    with Simulation() as simulation:
        simulation.add(*(objects or (*NODES, *PODS)))
        before = simulation.placements()
        found = defrag(simulation, goal, **more)
        assert simulation.placements() == before
        return found


@pytest.mark.parametrize(
    ("goal", "moves"),
    [
        pytest.param(Fit([gpu("big", 8)]), 2, id="room for a pod that needs a whole node"),
        pytest.param(Fit([gpu("small", 2)]), 0, id="it fits already"),
        pytest.param(Fit([gpu("one", 4), gpu("two", 4)]), 1, id="room for two"),
        pytest.param(FreeNodes(1), 2, id="an empty node"),
        pytest.param(DrainNodes("g2"), 2, id="another pod must make room first"),
        pytest.param(DrainNodes("kubernetes.io/hostname in (g3)"), 2, id="a selector"),
    ],
)
def test_the_fewest_moves(goal: Goal, moves: int) -> None:
    """27 GPUs free of 32, but nowhere eight of them."""
    found = plan(goal)
    assert (found.is_reached, found.moves, found.gap) == (True, moves, 0.0)
    assert sum(step.action == "evict" for step in found.steps) == moves


def test_a_landing_that_the_scheduler_would_not_choose_says_which_help_it_needs() -> None:
    """e needs six GPUs, which no node has: a small pod must go where the scheduler would not put it by itself."""
    found = plan(DrainNodes("g2"))
    helped = next(step for step in found.steps if step.meanwhile_cordoned)
    assert helped.pod != "default/e"
    assert f"→ {helped.lands_on}, with {', '.join(helped.meanwhile_cordoned)} cordoned meanwhile" in plan_text(found)
    assert found.steps[-1].pod == "default/e"


def test_nodes_that_are_kept_clear_are_cordoned_for_a_while() -> None:
    """Otherwise pods would go back to where they came from."""
    found = plan(Fit([gpu("big", 8)]))
    assert [step.action for step in found.steps] == ["cordon", "evict", "evict", "uncordon"]
    assert [(one.pod, one.node) for one in found.placed] == [("default/big", found.steps[0].nodes[0])]
    shell = plan_shell(found)
    cleared, evicted = found.steps[0].nodes[0], found.steps[1].pod.removeprefix("default/")
    assert f"kubectl cordon {cleared}\n" in shell
    assert f"| kubectl create --raw /api/v1/namespaces/default/pods/{evicted}/eviction -f -" in shell


def test_budgets_and_pods_that_nothing_recreates_stay_where_they_are() -> None:
    """The proof says so, and what would do."""
    budget = make_pdb("held", selector={"matchLabels": {"app": "held"}})
    pods = [gpu("x", 4, "g0", labels={"app": "held"}), gpu("y", 4, "g1", owner=None)]
    found = plan(Fit([gpu("big", 8)]), *NODES[:2], budget, *pods)
    assert not found.is_reached
    assert found.why.startswith("2 pods may not move (")
    assert "1: The disruption budget held needs 1 healthy pods of 1" in found.why
    assert "1: nothing recreates it" in found.why
    assert found.proof.startswith(
        "proved by the solver: no placement of the 0 pods that may move does it; it would do if"
    )
    assert "there is no such plan" in plan_text(found)


def test_what_cannot_fit_at_all_is_proved() -> None:
    """Six pods of 3 do not fit on one node of 8 less."""
    pods = [gpu(f"p{i}", 3, f"g{i % 3}") for i in range(6)]
    found = plan(Fit([gpu("big", 8)]), *NODES[:3], *pods)
    assert found.proof.endswith("; nor would any, if all pods could move")
    nowhere = plan(Fit([gpu("big", 9)]))
    assert nowhere.proof.startswith("proved by the solver")
    tied = plan(Fit([gpu("big", 1, node_selector={"no": "where"})]))
    assert tied.proof == "no node takes it, even if it were empty"


@pytest.mark.parametrize("goal", [Fit([gpu("big", 8)]), FreeNodes(1), DrainNodes("g0")])
def test_without_a_solver_a_plan_is_greedy_and_says_so(goal: Goal) -> None:
    """It is legal all the same; nothing is known about better ones."""
    found = plan(goal, with_solver=False)
    assert found.is_reached
    assert found.gap is None
    assert "greedy" in found.method
    impossible = plan(FreeNodes(3), with_solver=False)
    assert impossible.why == "only 1 node could be emptied one after the other"
    with pytest.raises(ConfigurationError, match="room for several pods needs the solver"):
        plan(Fit([gpu("one", 8), gpu("two", 8)]), with_solver=False)


def test_the_cheapest_moves_are_not_always_the_fewest() -> None:
    """One pod that must not be disturbed, or two that may."""
    costly = gpu("costly", 4, "g0", annotations={"kubesched.io/eviction-cost": "10"})
    pods = [costly, gpu("b", 2, "g1"), gpu("c", 2, "g1"), gpu("d", 4, "g2")]
    found = plan(FreeNodes(1), *NODES[:3], *pods)
    assert (found.moves, found.emptied) == (1, ("g2",))
    found = plan(Fit([gpu("big", 8, node_selector={"kubernetes.io/hostname": "g1"})]), *NODES[:3], *pods)
    assert (found.moves, found.cost) == (2, 2)


def test_costs() -> None:
    """By priority, containers, and the work that is lost."""
    now = datetime(2026, 1, 2, tzinfo=UTC)
    pod = gpu("p", 4, "g0", priority=7, start_time=now - timedelta(hours=10))
    assert [cost_function(cost, now)(pod) for cost in Cost] == [1, 8, 1, 41]


def test_pods_in_the_wrong_place_are_moved_where_that_helps() -> None:
    """A spread that a node has joined since; and one that cannot be mended."""
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    more: dict[str, Any] = {
        "labels": {"app": "web"},
        "spread": [{**spread, "labelSelector": {"matchLabels": {"app": "web"}}}],
    }
    pods = [make_pod(f"web-{i}", cpu="1", node="g0", owner=JOB, **more) for i in range(4)]
    found = plan(Rebalance(), *NODES[:2], *pods)
    assert (found.is_reached, found.moves) == (True, 2)
    assert {step.lands_on for step in found.steps} == {"g1"}
    stays = make_pod("stays", owner=JOB, node="g0", node_selector={"no": "where"})
    found = plan(Rebalance(), *NODES[:2], stays)
    assert not found.is_reached
    assert "didn't match Pod's node affinity/selector" in found.why


def test_contradictions_are_one_line() -> None:
    """More nodes than there are."""
    with pytest.raises(ConfigurationError, match="cannot empty 4 of 4 nodes"):
        plan(FreeNodes(4))
    with pytest.raises(ConfigurationError, match="no node is named 'x'"):
        plan(DrainNodes("x"))


def test_a_solver_that_runs_out_of_time_is_not_a_proof() -> None:
    """The plan is greedy then, and says why; for several pods at once there is none, which proves nothing."""
    with Simulation() as simulation:
        simulation.add(*(make_node(f"n{i}", cpu="8") for i in range(12)))
        owner = {"kind": "ReplicaSet", "name": "web", "uid": "web"}
        simulation.add(*(make_pod(f"web-{i}", cpu="2", node=f"n{i % 12}", owner=owner) for i in range(24)))
        emptied = defrag(simulation, FreeNodes(2), seconds=1e-9)
        many = defrag(simulation, Fit([make_pod("big", cpu="8")] * 2), seconds=1e-9)
    assert emptied.is_reached
    assert "greedy, since the solver found no plan in 1e-09 s" in plan_text(emptied)
    assert plan_text(many).startswith("room for default/big and 1 more: no plan was found\n  the solver found no plan")


def test_a_proof_does_not_speak_of_pods_that_hold_devices() -> None:
    """They are not moved by a plan, so nothing is proved about moving them; the text says so."""
    held = gpu("held", 4, "g0", spec={"resourceClaims": [{"name": "device", "resourceClaimName": "device"}]})
    nodes = [make_node("g0", cpu="64", resources={GPU: 8})]
    found = plan(Fit([gpu("big", 8)]), *nodes, held)
    assert found.why == "1 pod may not move (it holds devices)"
    assert "nor would any, if all pods but 1 pod (it holds devices) could move" in found.proof
