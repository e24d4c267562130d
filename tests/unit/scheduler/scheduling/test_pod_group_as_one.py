"""Pod groups as Kubernetes 1.37 decides on them (gate GenericWorkload); those of 1.36 are test_pod_group_cycle's."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kubesched.config.versions import CURRENT_VERSION
from kubesched.objects import Pod, PodGroup
from kubesched.testing import make_node, make_pod, make_pod_group

GROUP = "GenericWorkload"
UNSCHEDULABLE = "pod group is unschedulable"
FREED = "deallocation and deletion of ResourceClaims completed"
NOBODY = "pod group preemption: No preemption victims found for incoming preemptor"


@pytest.fixture
def scheduler(new_scheduler: Any) -> Any:
    return partial(new_scheduler, GROUP, version=CURRENT_VERSION)


def members(count: int, **pod: Any) -> list[Pod]:
    return [make_pod(f"p{k}", group="group", **{"cpu": "1", **pod}) for k in range(count)]


def condition(whole: Any, group: str = "group") -> tuple[str, str, str]:
    (found,) = whole.find(PodGroup, group).status.conditions
    assert found.type == "PodGroupInitiallyScheduled"
    return found.status, found.reason, found.message


def full_nodes(*pods: tuple[str, int, str]) -> list[Any]:
    """A node for each pod (name, priority, group), which takes all of it."""
    made: list[Any] = []
    for k, (name, priority, group) in enumerate(pods):
        made += [make_node(f"n{k}", cpu="2"), make_pod(name, cpu="2", node=f"n{k}", priority=priority, group=group)]
    return made


def gang(
    count: int = 2, *, priority: int = 100, policy: str = "", nodes: tuple[str, ...] = (), **spec: Any
) -> list[Any]:
    """Each pod takes a whole node, one of those that are named if any are."""
    group = make_pod_group("group", min_count=count, spec={"priority": priority, **spec})
    own: dict[str, Any] = {"preemptionPolicy": policy} if policy else {}
    if nodes:
        own["affinity"] = only_on(*nodes)
    return [group, *members(count, cpu="2", priority=priority, spec=own)]


def only_on(*nodes: str) -> dict[str, Any]:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in nodes]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def assert_nothing_left_over(whole: Any) -> None:
    assert whole.parts.cache.assumed_count == 0
    assert whole.parts.queue.in_flight_counts() == {}


def test_a_gang_that_fits_is_bound(scheduler: Any) -> None:
    """GangScheduling is part of the gate."""
    whole = scheduler()
    whole.add(make_node("n", cpu="4"), make_pod_group(min_count=3), *members(2))
    whole.schedule()
    assert whole.placements() == {}
    whole.add(make_pod("p2", group="group", cpu="1"))
    whole.schedule()
    assert sorted(whole.placements()) == ["p0", "p1", "p2"]
    assert condition(whole) == ("True", "Scheduled", "")
    assert_nothing_left_over(whole)


def test_a_gang_that_cannot_be_placed_any_more_is_given_up(scheduler: Any) -> None:
    """After the first pod that does not fit, the others are not tried: they hear of the group only."""
    whole = scheduler()
    whole.add(make_node("n", cpu="1"), make_pod_group(min_count=3), *members(3))
    whole.schedule()
    problem = "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
    notes = whole.notes("FailedScheduling")
    assert notes["default/p0"] == f"{UNSCHEDULABLE}, {problem}, {NOBODY}"
    assert notes["default/p1"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert notes["default/p2"] == problem
    assert condition(whole) == ("False", "Unschedulable", f"{problem}, {NOBODY}")
    assert whole.placements() == {}
    assert_nothing_left_over(whole)
    whole.add(make_node("m", cpu="2"))
    whole.schedule(after=60)
    assert len(whole.placements()) == 3


def test_what_is_left_of_a_group_preempts_at_once(scheduler: Any) -> None:
    """The first attempt binds those that fit; the next one, without a pause, makes room for the rest."""
    whole = scheduler()
    group = make_pod_group("group", spec={"priority": 100})
    whole.add(*full_nodes(("victim", 10, "")), make_node("free", cpu="2"), group, *members(2, cpu="2", priority=100))
    whole.schedule()
    assert whole.notes("Preempted") == {"default/victim": "Preempted by podgroup default/group on node cluster"}
    assert condition(whole) == ("True", "Scheduled", "")
    whole.schedule(after=60)
    assert len(whole.placements()) == 2


TRAINING = (("t0", 10, "train"), ("t1", 10, "train"), ("s2", 10, ""))


@pytest.mark.parametrize(
    ("mode", "victims"),
    [
        pytest.param({"all": {}}, {"t0", "t1", "s2"}, id="a group that goes as a whole"),
        pytest.param({"single": {}}, {"t0", "s2"}, id="a group whose pods are on their own"),
    ],
)
def test_a_gang_makes_room(scheduler: Any, mode: dict[str, Any], victims: set[str]) -> None:
    """It says how many it preempts, and its pods are nominated to the nodes that they will get."""
    whole = scheduler()
    train = make_pod_group("train", spec={"disruptionMode": mode, "priority": 10})
    whole.add(train, *full_nodes(*TRAINING), *gang(nodes=("n0", "n2")))
    whole.schedule()
    assert {name for name in ("t0", "t1", "s2") if whole.find(Pod, name) is None} == victims
    nominated = {whole.find(Pod, name).status.nominated_node_name for name in ("p0", "p1")}
    assert len(nominated - {""}) == 2
    problem = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    found = f"pod group preemption: found a placement for podgroup, preempting {len(victims)} victims"
    assert condition(whole) == ("False", "Unschedulable", f"{problem}, {found}")
    whole.schedule(after=60)
    assert whole.placements().keys() >= {"p0", "p1"}
    assert_nothing_left_over(whole)


def test_a_gang_is_tried_again_while_its_victims_end(scheduler: Any) -> None:
    """Always after its backoff: no event decides about that. The message tells that nominated nodes come first."""
    whole = scheduler()
    preempted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    victim = make_pod("victim", cpu="2", node="n0", priority=10, deleting=True, status={"conditions": [preempted]})
    group, *_ = gang()
    first, second = (
        make_pod(name, group="group", cpu="2", priority=100, nominated_node=node, affinity=only_on(node))
        for name, node in (("p0", "n1"), ("p1", "n0"))
    )
    whole.add(*(make_node(f"n{k}", cpu="2") for k in range(3)), victim, group, first, second)
    whole.schedule()
    elsewhere = "2 node(s) didn't satisfy plugin(s) [NodeAffinity NodeResourcesFit]"
    assert whole.notes("FailedScheduling")["default/p1"] == f"0/3 nodes are available: 1 Insufficient cpu, {elsewhere}."
    assert condition(whole)[2].endswith("pod group preemption: ongoing preemption on nominated nodes")
    assert {place for place, _ in whole.parts.queue.waiting()} == {"backoff"}
    whole.schedule(after=0.5)
    assert len(whole.recorder.events) == 2
    whole.schedule(after=1.5)
    assert len(whole.recorder.events) == 4
    assert whole.placements() == {"victim": "n0"}
    assert_nothing_left_over(whole)


@pytest.mark.parametrize(
    ("placed", "spec", "reason"),
    [
        pytest.param(
            [("s0", 10, ""), ("s1", 100, "")],
            {},
            f"{FREED}, pod group preemption: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
            id="not enough room even without the others",
        ),
        pytest.param([("s0", 100, ""), ("s1", 100, "")], {}, NOBODY, id="nobody is less important"),
        pytest.param(
            [("s0", 10, ""), ("s1", 10, "")],
            {"policy": "Never"},
            f"{FREED}, pod group preemption: not eligible due to preemptionPolicy=Never.",
            id="pods that never preempt",
        ),
    ],
)
def test_a_gang_that_cannot_make_room(scheduler: Any, placed: Any, spec: Any, reason: str) -> None:
    """Nobody is evicted, and the condition says why."""
    whole = scheduler()
    whole.add(*full_nodes(*placed), *gang(**spec))
    whole.schedule()
    assert whole.notes("Preempted") == {}
    problem = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining"
    assert condition(whole) == ("False", "Unschedulable", f"{problem}, {reason}")
    assert_nothing_left_over(whole)


def test_a_group_may_say_itself_that_it_never_preempts(new_scheduler: Any) -> None:
    """Gate PodGroupPreemptionPolicy; its pods must say the same."""
    whole = new_scheduler(GROUP, "PodGroupPreemptionPolicy", version=CURRENT_VERSION)
    whole.add(*full_nodes(("s0", 10, "")), *gang(1, policy="Never", preemptionPolicy="Never"))
    whole.schedule()
    assert whole.notes("Preempted") == {}
    assert condition(whole)[2].endswith("not eligible due to preemptionPolicy=Never.")


SAME = "all pods in a single pod group should have the same"


@pytest.mark.parametrize(
    ("gates", "pods", "problem"),
    [
        pytest.param(
            [],
            members(2, priority=7),
            f"{SAME} priority as the pod group's priority, got 7 and 0",
            id="another priority than the group",
        ),
        pytest.param(
            [],
            [*members(1), make_pod("p1", group="group", spec={"preemptionPolicy": "Never"})],
            f"{SAME} preemption policy, got Never and PreemptLowerPriority",
            id="pods that differ in their preemption policy",
        ),
        pytest.param(
            ["PodGroupPreemptionPolicy"],
            members(2, spec={"preemptionPolicy": "Never"}),
            f"{SAME} preemption policy as the pod group's preemption policy, got Never and PreemptLowerPriority",
            id="another preemption policy than the group",
        ),
    ],
)
def test_pods_that_cannot_be_decided_on_together(
    new_scheduler: Any, gates: list[str], pods: list[Pod], problem: str
) -> None:
    """That is an error of whoever made them, and everybody hears of it."""
    whole = new_scheduler(GROUP, *gates, version=CURRENT_VERSION)
    whole.add(make_node("n", cpu="4"), make_pod_group(), *pods)
    whole.schedule()
    assert whole.placements() == {}
    assert set(whole.notes("FailedScheduling").values()) == {problem}
    assert condition(whole) == ("False", "SchedulerError", problem)
    assert_nothing_left_over(whole)


def test_a_gated_pod_holds_its_group_back(scheduler: Any) -> None:
    """Even a gang that is large enough without it."""
    whole = scheduler()
    gated = make_pod("gated", group="group", cpu="1", spec={"schedulingGates": [{"name": "wait"}]})
    whole.add(make_node("n", cpu="4"), gated, make_pod_group(min_count=2), *members(2))
    whole.schedule()
    whole.schedule(after=400)
    assert whole.placements() == {}
    assert whole.notes("FailedScheduling") == {}
    assert_nothing_left_over(whole)
    whole.update(gated, make_pod("gated", group="group", cpu="1"))
    whole.schedule()
    assert sorted(whole.placements()) == ["gated", "p0", "p1"]


def test_a_group_is_the_victim_of_a_single_pod(scheduler: Any) -> None:
    """Of two nodes, the one without the group costs less; a group that must go goes from both."""
    whole = scheduler()
    train = make_pod_group("train", spec={"disruptionMode": {"all": {}}, "priority": 10})
    whole.add(train, *full_nodes(("t0", 10, "train"), ("t1", 10, "train"), ("s", 10, "")))
    whole.add(make_pod("first", cpu="2", priority=100))
    whole.schedule()
    assert whole.notes("Preempted").keys() == {"default/s"}
    whole.schedule(after=60)
    whole.add(make_pod("second", cpu="2", priority=100))
    whole.schedule()
    assert whole.notes("Preempted").keys() == {"default/s", "default/t0", "default/t1"}


def test_the_priority_of_a_group_protects_its_pods(scheduler: Any) -> None:
    """Whatever they say themselves."""
    whole = scheduler()
    train = make_pod_group("train", spec={"priority": 200})
    whole.add(train, *full_nodes(("t0", 10, "train")), make_pod("first", cpu="2", priority=100))
    whole.schedule()
    assert whole.notes("Preempted") == {}


def test_a_gang_that_needs_fewer_pods(scheduler: Any) -> None:
    """Its pods are let in when `minCount` goes down."""
    whole = scheduler()
    before = make_pod_group(min_count=3)
    whole.add(make_node("n", cpu="4"), before, *members(2))
    whole.schedule()
    assert whole.placements() == {}
    whole.update(before, make_pod_group(min_count=2))
    whole.schedule()
    assert len(whole.placements()) == 2
