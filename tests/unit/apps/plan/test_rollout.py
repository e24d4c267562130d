"""Node upgrades in virtual time: when they finish, and where they get stuck."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched import Simulation
from kubesched.apps.plan.rollout import Order, Pace, RolloutReport, best_order, rollout
from kubesched.apps.plan.rollout_text import duration, rollout_text
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod, PodDisruptionBudget, convert
from kubesched.testing import make_node, make_pod, make_pv, make_pvc

WEB = {"kind": "ReplicaSet", "name": "web", "uid": "web"}
QUICK = Pace(grace=10, start_up=5, node_time=100)


def web(number: int, node: str, **more: Any) -> Pod:
    return make_pod(f"web-{number}", labels={"app": "web"}, node=node, **{"cpu": "1", "owner": WEB, **more})


def budget(**spec: Any) -> PodDisruptionBudget:
    selector = {"matchLabels": {"app": "web"}}
    manifest = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": selector, **spec}}
    return convert(manifest, PodDisruptionBudget)


def play(objects: list[Any], pace: Pace = QUICK, order: Order = Order.NAME, **more: Any) -> RolloutReport:
    with Simulation() as simulation:
        simulation.add(*objects)
        before = simulation.placements()
        report = rollout(simulation, more.pop("pool", ""), pace, order, **more)
        assert simulation.placements() == before
        return report


NODES = [make_node(name, cpu="4", zone=zone) for name, zone in (("a", "x"), ("b", "x"), ("c", "y"))]
PODS = [web(1, "a"), web(2, "b"), web(3, "c")]


def test_node_after_node_in_place() -> None:
    """Each is drained (10 s of grace) and away (100 s)."""
    report = play([*NODES, *PODS])
    assert (report.finishes, report.seconds) == (True, 330.0)
    assert [(one.node, one.drains_from, one.empty_at, one.done_at) for one in report.nodes] == [
        ("a", 0.0, 10.0, 110.0),
        ("b", 110.0, 120.0, 220.0),
        ("c", 220.0, 230.0, 330.0),
    ]
    assert report.evictions >= 3
    assert rollout_text(report).startswith("3 nodes upgraded in 5m 30s, ")


def test_a_surge_brings_a_node_first() -> None:
    """100 s for the new node, 10 s for the old one; two at a time are done in half the time."""
    report = play([*NODES, *PODS], Pace(surge=1, max_unavailable=0, grace=10, start_up=5, node_time=100))
    assert (report.finishes, report.seconds) == (True, 330.0)
    both = play([*NODES, *PODS], Pace(surge=1, max_unavailable=1, grace=10, start_up=5, node_time=100))
    assert (both.finishes, both.seconds) == (True, 220.0)


def test_a_budget_waits_for_successors_to_be_ready() -> None:
    """Two pods on one node, one may be missing: the second goes when the first one's successor is ready."""
    report = play([*NODES[:2], web(1, "a"), web(2, "a"), budget(maxUnavailable=1)], pool="a")
    assert [(one.evictions, one.empty_at) for one in report.nodes] == [(2, 15.0)]


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        pytest.param([*PODS, budget(minAvailable=3)], "needs 3 healthy pods and has 3 currently", id="a budget"),
        pytest.param(
            [make_pod("bare", node="a")], "nothing recreates it; --force evicts it all the same", id="a bare pod"
        ),
    ],
)
def test_where_it_gets_stuck(objects: list[Any], why: str) -> None:
    """And nothing after it is reached."""
    report = play([*NODES, *objects])
    assert (report.finishes, report.not_reached) == (False, 2)
    assert why in report.stuck[0].why
    assert "stuck after 0s: 0 of 3 nodes upgraded" in rollout_text(report)


def test_a_budget_that_no_successor_satisfies() -> None:
    """The successor finds no room, so that the budget never allows the next eviction."""
    full = [make_node("a", cpu="2"), make_node("b", cpu="1")]
    report = play([*full, web(1, "a"), web(2, "a"), web(3, "b"), budget(maxUnavailable=1)], pool="a")
    assert not report.finishes
    assert "needs 2 healthy pods and has 2 currently" in report.stuck[0].why
    assert [(one.pod, one.until) for one in report.waits] == [("default/web-1+1", None)]


def test_pods_wait_for_the_zone_of_their_volume() -> None:
    """A StatefulSet's pod whose volume is in zone y waits until node c is back."""
    terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["y"]}]}]
    volume = make_pv("disk", claim="default/data", spec={"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}})
    owner = {"kind": "StatefulSet", "name": "db", "uid": "db"}
    database = make_pod("db-0", node="c", owner=owner, claims=["data"])
    report = play([*NODES, volume, make_pvc("data", volume="disk"), database], pool="c")
    assert report.finishes
    assert [(one.pod, one.since, one.until) for one in report.waits] == [("default/db-0", 10.0, 110.0)]


def test_force_costs_pods_that_nothing_recreates() -> None:
    """They are named."""
    report = play([*NODES, make_pod("bare", node="a")], force=True)
    assert (report.finishes, report.lost) == (True, ("default/bare",))


def test_the_best_order_is_found() -> None:
    """The one with the fewest evictions, if all take as long."""
    reports = [play([*NODES, *PODS], order=order) for order in Order]
    best = best_order(reports)
    assert all(best.evictions <= report.evictions for report in reports)
    assert "the other orders:" in rollout_text(best, reports)


def test_what_makes_no_sense_is_one_line() -> None:
    """A pace that upgrades nothing, and a pool without nodes."""
    with pytest.raises(ConfigurationError, match="no node may be upgraded"):
        play(NODES, Pace(surge=0, max_unavailable=0))
    with pytest.raises(ConfigurationError, match="no node is named 'pool=x'"):
        play(NODES, pool="pool=x")


def test_durations() -> None:
    """As people write them."""
    assert [duration(seconds) for seconds in (0, 59, 60, 3661)] == ["0s", "59s", "1m", "1h 1m 1s"]
