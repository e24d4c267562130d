from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from kubesched.objects import Node, Pod, PodGroup
from kubesched.testing import make_node, make_pod, make_pod_group

GANG = ("GenericWorkload", "GangScheduling")
TOPOLOGY = (*GANG, "TopologyAwareWorkloadScheduling")


def members(count: int, **pod: Any) -> list[Pod]:
    return [make_pod(f"p{k}", group="group", **{"cpu": "1", **pod}) for k in range(count)]


def condition(whole: Any) -> tuple[str, str, str]:
    (found,) = whole.find(PodGroup, "group").status.conditions
    assert found.type == "PodGroupScheduled"
    return found.status, found.reason, found.message


def assert_nothing_left_over(whole: Any) -> None:
    assert whole.parts.cache.assumed_count == 0
    assert whole.parts.queue.in_flight_counts() == {}


def test_a_gang_that_fits_is_bound(new_scheduler: Any) -> None:
    """Nothing happens before all are there; then all get their nodes in one go."""
    whole = new_scheduler(*GANG)
    whole.add(make_node("n0", cpu="2"), make_node("n1", cpu="2"), make_pod_group(min_count=3))
    first, second, third = members(3)
    whole.add(first, second)
    whole.schedule()
    assert whole.placements() == {}
    whole.add(third)
    whole.schedule()
    assert sorted(whole.placements()) == ["p0", "p1", "p2"]
    assert condition(whole) == ("True", "Scheduled", "")
    assert_nothing_left_over(whole)


def test_a_gang_that_does_not_fit_stays_out(new_scheduler: Any) -> None:
    """Nobody is bound, not even those for whom there was room, and each hears why."""
    whole = new_scheduler(*GANG)
    whole.add(make_node("n", cpu="2"), make_pod_group(min_count=3), *members(3))
    whole.schedule()
    assert whole.placements() == {}
    notes = whole.notes("FailedScheduling")
    waiting = "waiting for minCount pods from a gang to be scheduled"
    asked = "one or more plugins asked to wait and no plugin rejected pod"
    assert notes["default/p0"] == notes["default/p1"] == f"pod group is unschedulable, {waiting}, {asked}"
    assert notes["default/p2"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert condition(whole) == ("False", "Unschedulable", "pod group is unschedulable")
    assert_nothing_left_over(whole)
    whole.add(make_node("m", cpu="1"))
    whole.schedule(after=60)
    assert len(whole.placements()) == 3


def test_more_pods_than_the_gang_needs(new_scheduler: Any) -> None:
    """Those that fit are bound once there are enough; the others wait, and the group stays scheduled."""
    whole = new_scheduler(*GANG)
    whole.add(make_node("n", cpu="2"), make_pod_group(min_count=2), *members(3))
    whole.schedule()
    assert sorted(whole.placements()) == ["p0", "p1"]
    assert condition(whole) == ("True", "Scheduled", "")
    whole.schedule(after=400)
    assert condition(whole) == ("True", "Scheduled", "")
    assert_nothing_left_over(whole)


def test_a_group_that_is_no_gang(new_scheduler: Any) -> None:
    """Whoever fits is bound."""
    whole = new_scheduler(*GANG)
    whole.add(make_node("n", cpu="2"), make_pod_group(), *members(3))
    whole.schedule()
    assert sorted(whole.placements()) == ["p0", "p1"]


def test_the_most_important_pods_of_a_group_come_first(new_scheduler: Any) -> None:
    """Whichever was popped."""
    whole = new_scheduler(*GANG)
    whole.add(make_node("n", cpu="1"), make_pod_group())
    whole.add(*members(1), make_pod("vip", group="group", cpu="1", priority=5))
    whole.schedule()
    assert whole.placements() == {"vip": "n"}


def test_a_gang_preempts(new_scheduler: Any) -> None:
    """It waits with its nodes nominated until the victims are gone, then it is bound there."""
    whole = new_scheduler(*GANG)
    whole.add(make_node("n0", cpu="1"), make_node("n1", cpu="1"), make_pod_group(min_count=2))
    whole.add(make_pod("low", cpu="1", node="n0"))
    whole.add(*members(2, priority=10))
    whole.schedule()
    assert whole.placements() == {}
    message = "pod group is unschedulable, pod group is waiting for preemption to complete"
    assert condition(whole) == ("False", "Unschedulable", message)
    assert sorted(whole.find(Pod, f"p{k}").status.nominated_node_name for k in range(2)) == ["n0", "n1"]
    assert whole.notes("FailedScheduling")["default/p0"] == message
    assert_nothing_left_over(whole)
    whole.schedule(after=60)
    assert sorted(whole.placements()) == ["p0", "p1"]


def test_pods_of_one_group_with_two_schedulers(new_scheduler: Any) -> None:
    """That makes no sense: an error for each of them."""
    whole = new_scheduler(*GANG, profiles=("default-scheduler", "other"))
    whole.add(make_node("n", cpu="2"), make_pod_group())
    whole.add(*members(1), make_pod("q", group="group", scheduler="other", cpu="1"))
    whole.schedule()
    assert whole.placements() == {}
    problem = "all pods in a single pod group should have the same .spec.schedulerName set"
    notes = whole.notes("FailedScheduling")
    assert notes["default/p0"] == notes["default/q"] == f'{problem}, got: "other" and "default-scheduler"'
    assert_nothing_left_over(whole)


def test_a_pod_of_the_group_that_is_not_ours(new_scheduler: Any) -> None:
    """Another scheduler takes care of it."""
    whole = new_scheduler(*GANG)
    whole.add(make_node("n", cpu="2"), make_pod_group())
    whole.add(*members(1), make_pod("other", group="group", scheduler="nobody"))
    whole.schedule()
    assert whole.placements() == {"p0": "n"}


def test_pods_that_are_being_deleted_are_left_out(new_scheduler: Any) -> None:
    """The rest of the group goes on."""
    whole = new_scheduler(*GANG)
    whole.add(make_node("n", cpu="2"), make_pod_group(), *members(1), make_pod("leaving", group="group", deleting=True))
    whole.schedule()
    assert whole.placements() == {"p0": "n"}
    assert_nothing_left_over(whole)


def test_a_group_goes_into_one_domain(new_scheduler: Any) -> None:
    """The rack that takes the whole gang, not the one that has the emptiest node."""
    whole = new_scheduler(*TOPOLOGY)
    group = make_pod_group(min_count=3, spec={"schedulingConstraints": {"topology": [{"key": "rack"}]}})
    whole.add(make_node("big", cpu="2", labels={"rack": "a"}), make_node("elsewhere", cpu="9"))
    whole.add(*(make_node(f"small{k}", cpu="1", labels={"rack": "b"}) for k in range(3)))
    whole.add(group, *members(3))
    whole.schedule()
    assert set(whole.placements().values()) == {"small0", "small1", "small2"}


def test_the_domain_that_takes_most_pods_wins(new_scheduler: Any) -> None:
    """Both would do for the gang."""
    whole = new_scheduler(*TOPOLOGY)
    group = make_pod_group(min_count=2, spec={"schedulingConstraints": {"topology": [{"key": "rack"}]}})
    whole.add(make_node("two", cpu="2", labels={"rack": "a"}), make_node("three", cpu="3", labels={"rack": "b"}))
    whole.add(group, *members(3))
    whole.schedule()
    assert set(whole.placements().values()) == {"three"}


def test_no_domain_takes_the_group(new_scheduler: Any) -> None:
    """The pods hear of the first placement, the group of all."""
    whole = new_scheduler(*TOPOLOGY)
    group = make_pod_group(min_count=3, spec={"schedulingConstraints": {"topology": [{"key": "rack"}]}})
    whole.add(make_node("a", cpu="2", labels={"rack": "a"}), make_node("b", cpu="1", labels={"rack": "b"}))
    whole.add(group, *members(3))
    whole.schedule()
    assert whole.placements() == {}
    message = "0/2 placements are available, first placement status: pod group is unschedulable"
    assert condition(whole) == ("False", "Unschedulable", message)
    note = whole.notes("FailedScheduling")["default/p2"]
    limitation = "not eligible due to placement-based pod group scheduling limitation"
    assert note.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert note.endswith(f"preemption: {limitation}")
    assert_nothing_left_over(whole)


class Meanwhile:
    """An extender that takes every node; `then` happens while it is asked for the n-th time."""

    name, weight, is_ignorable, is_filter, is_prioritizer, is_binder = "meanwhile", 1, False, True, False, False
    supports_preemption = False

    def __init__(self, then: dict[int, Callable[[], None]]) -> None:
        self.then = then
        self.asked: list[list[str]] = []

    def is_interested(self, pod: Pod) -> bool:
        return True

    async def filter(self, pod: Pod, nodes: Sequence[Node]) -> Any:
        self.asked.append([node.metadata.name for node in nodes])
        self.then.get(len(self.asked), lambda: None)()
        return SimpleNamespace(fitting=self.asked[-1], failed={}, failed_unresolvable={})


def test_a_placement_knows_its_nodes_though_rows_change_owners(new_scheduler: Any) -> None:
    """While an extender is asked, a node of the rack goes, and one of another rack takes its row."""
    extender = Meanwhile({})
    whole = new_scheduler(*TOPOLOGY, extenders=[extender])
    group = make_pod_group(min_count=2, spec={"schedulingConstraints": {"topology": [{"key": "rack"}]}})
    whole.add(*(make_node(f"a{k}", cpu="1", labels={"rack": "a"}) for k in range(3)))

    def a0_is_replaced() -> None:
        whole.parts.handlers.delete(make_node("a0", cpu="1", labels={"rack": "a"}))
        whole.parts.handlers.add(make_node("b", cpu="9", labels={"rack": "b"}))

    extender.then[1] = a0_is_replaced
    whole.add(group, *members(2))
    whole.schedule()
    assert not any("b" in nodes for nodes in extender.asked)
    assert set(whole.placements().values()) == {"a1", "a2"}


def test_a_pod_of_a_group_is_not_committed_to_a_node_that_is_gone(new_scheduler: Any) -> None:
    """It was chosen before the extender was asked about the next pod."""
    extender = Meanwhile({})
    whole = new_scheduler(*GANG, extenders=[extender])
    extender.then[2] = lambda: whole.parts.handlers.delete(make_node("n0", cpu="1"))
    whole.add(make_node("n0", cpu="1"), make_pod_group(min_count=1), *members(2))
    extender.then[1] = lambda: whole.parts.handlers.add(make_node("n1", cpu="1"))
    whole.schedule()
    assert whole.notes("FailedScheduling") == {"default/p0": "node n0 is gone"}
    assert whole.placements() == {"p1": "n1"}


def test_without_the_gate_groups_mean_nothing(new_scheduler: Any) -> None:
    """Pods are scheduled one by one, as always."""
    whole = new_scheduler()
    whole.add(make_node("n", cpu="2"), make_pod_group(min_count=3), *members(3))
    whole.schedule()
    assert sorted(whole.placements()) == ["p0", "p1"]
