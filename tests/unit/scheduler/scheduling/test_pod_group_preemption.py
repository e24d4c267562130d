from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubesched.objects import Node, Pod, PodGroup
from kubesched.scheduler.framework import (
    SUCCESS,
    Code,
    Nominations,
    Plugin,
    PodGroupDryRun,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodInfo,
    Status,
)
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.pod_group_preemption import CacheDryRun, PodGroupPreemption
from kubesched.scheduler.scheduling.pod_group_trial import GroupResult, GroupTrial
from kubesched.testing import make_node, make_pod, make_pod_group

GATES = ("GenericWorkload", "GangScheduling", "WorkloadAwarePreemption")
TOPOLOGY = (*GATES, "TopologyAwareWorkloadScheduling")
UNSCHEDULABLE = "pod group is unschedulable"
ALONE = "preemption: not eligible due to workload aware preemption enabled"


def gang(count: int = 2, *, priority: int = 100, **spec: Any) -> list[Any]:
    group = make_pod_group("gang", min_count=count, spec={"priority": priority, **spec})
    return [group, *(make_pod(f"g{k}", group="gang", cpu="2", priority=priority) for k in range(count))]


def full_nodes(*pods: tuple[str, int, str]) -> list[Any]:
    """A node for each pod (name, priority, group), which takes all of it."""
    made: list[Any] = []
    for k, (name, priority, group) in enumerate(pods):
        made += [make_node(f"n{k}", cpu="2"), make_pod(name, cpu="2", node=f"n{k}", priority=priority, group=group)]
    return made


def condition(whole: Any) -> tuple[str, str, str]:
    (found,) = whole.find(PodGroup, "gang").status.conditions
    return found.status, found.reason, found.message


def counted(whole: Any) -> list[str]:
    cluster = whole.parts.cache.cluster
    rows = cluster.nodes.row_of.values()
    return sorted(info.pod.metadata.name for row in rows for info in cluster.pods.on_node(row))


def assert_nothing_left_over(whole: Any) -> None:
    assert whole.parts.cache.assumed_count == 0
    assert whole.parts.queue.in_flight_counts() == {}
    assert counted(whole) == sorted(whole.placements())


TRAINING = (("t0", 10, "train"), ("t1", 10, "train"), ("s2", 10, ""), ("s3", 20, ""))


@pytest.mark.parametrize(
    ("mode", "victims"),
    [
        pytest.param("PodGroup", {"t0", "t1"}, id="a group that goes as a whole"),
        pytest.param("Pod", {"t1", "s2"}, id="a group whose pods are on their own"),
    ],
)
def test_a_gang_makes_room(new_scheduler: Any, mode: str, victims: set[str]) -> None:
    """Its pods hear why they do not fit, the victims for whom they go; then the gang gets their nodes."""
    whole = new_scheduler(*GATES)
    whole.add(make_pod_group("train", spec={"disruptionMode": mode, "priority": 10}), *full_nodes(*TRAINING), *gang())
    whole.schedule()
    assert {name for name in ("t0", "t1", "s2", "s3") if whole.find(Pod, name) is None} == victims
    told = whole.notes("Preempted")
    assert told == {f"default/{name}": "Preempted by podgroup default/gang on node cluster" for name in victims}
    failed = f"0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, {ALONE}"
    assert set(whole.notes("FailedScheduling").values()) == {failed}
    assert condition(whole) == ("False", "Unschedulable", UNSCHEDULABLE)
    whole.schedule(after=60)
    assert whole.placements().keys() >= {"g0", "g1"}
    assert condition(whole) == ("True", "Scheduled", "")
    assert_nothing_left_over(whole)


def test_pods_that_have_a_place_keep_it(new_scheduler: Any) -> None:
    """The one for which there was room is nominated there while the other one's victim goes."""
    whole = new_scheduler(*GATES)
    whole.add(*full_nodes(("s0", 10, ""), ("s1", 20, "")), make_node("free", cpu="2"), *gang())
    whole.schedule()
    assert {whole.find(Pod, name).status.nominated_node_name for name in ("g0", "g1")} == {"free", ""}
    assert UNSCHEDULABLE in whole.notes("FailedScheduling").values()
    assert whole.notes("Preempted").keys() == {"default/s0"}
    whole.schedule(after=60)
    assert sorted(whole.placements()) == ["g0", "g1", "s1"]


@pytest.mark.parametrize(
    ("placed", "spec", "reason"),
    [
        pytest.param(
            [("s0", 10, ""), ("s1", 100, "")], {}, UNSCHEDULABLE, id="not enough room even without the others"
        ),
        pytest.param(
            [("s0", 100, ""), ("s1", 100, "")],
            {},
            "No preemption victims found for incoming preemptor",
            id="nobody is less important",
        ),
        pytest.param(
            [("s0", 10, ""), ("s1", 10, "")],
            {"schedulingConstraints": {"topology": [{"key": "rack"}]}},
            "workload aware preemption is not supported for pod groups with scheduling constraints",
            id="a group with constraints",
        ),
    ],
)
def test_no_room_can_be_made(
    new_scheduler: Any, placed: Sequence[tuple[str, int, str]], spec: Any, reason: str
) -> None:
    """Nobody goes, and the group says why."""
    whole = new_scheduler(*GATES)
    whole.add(*full_nodes(*placed), *gang(**spec))
    whole.schedule()
    assert condition(whole) == ("False", "Unschedulable", f"{UNSCHEDULABLE}, {reason}")
    assert whole.notes("Preempted") == {}
    assert whole.find(Pod, "g0").status.nominated_node_name == ""
    assert_nothing_left_over(whole)


def test_a_group_in_placements(new_scheduler: Any) -> None:
    """Without constraints of its own it preempts as any other."""
    whole = new_scheduler(*TOPOLOGY)
    whole.add(*full_nodes(("s0", 10, ""), ("s1", 10, "")), *gang())
    whole.schedule()
    assert whole.notes("Preempted").keys() == {"default/s0", "default/s1"}


def test_the_gangs_own_pods_may_be_in_the_way(new_scheduler: Any) -> None:
    """Pods of lower priority than their group are victims like all others, if they must be."""
    whole = new_scheduler(*GATES)
    group = make_pod_group("gang", spec={"priority": 100})
    whole.add(*full_nodes(("old", 10, "gang")), group, make_pod("new", group="gang", cpu="2"))
    whole.schedule()
    assert whole.notes("Preempted").keys() == {"default/old"}


def test_without_the_gate_each_pod_preempts_by_itself(new_scheduler: Any) -> None:
    """Groups are then no whole, either."""
    whole = new_scheduler("GenericWorkload", "GangScheduling")
    train = make_pod_group("train", spec={"disruptionMode": "PodGroup", "priority": 1000})
    whole.add(train, *full_nodes(("t0", 10, "train"), ("s1", 20, "")), *gang(1))
    whole.schedule()
    assert {note.split()[2] for note in whole.notes("Preempted").values()} == {"pod"}
    assert whole.notes("Preempted").keys() == {"default/t0"}


class Meanwhile:
    """An extender that takes every node; something happens when it is asked for the n-th time."""

    name, weight, is_ignorable, is_filter, is_prioritizer, is_binder = "meanwhile", 1, False, True, False, False
    supports_preemption = False

    def __init__(self) -> None:
        self.asked = 0
        self.then: dict[int, Any] = {}

    def is_interested(self, pod: Pod) -> bool:
        return True

    async def filter(self, pod: Pod, nodes: Sequence[Node]) -> Any:
        self.asked += 1
        self.then.get(self.asked, lambda: None)()
        return SimpleNamespace(fitting=[node.metadata.name for node in nodes], failed={}, failed_unresolvable={})


@pytest.mark.parametrize("at", [1, 2, 3], ids=["everybody is gone", "one is back", "two are back"])
def test_what_happens_meanwhile_is_not_lost(new_scheduler: Any, at: int) -> None:
    """While an extender is asked, pods that are removed hypothetically are deleted, change, or lose their node."""
    extender = Meanwhile()
    whole = new_scheduler(*GATES, extenders=[extender])
    placed = full_nodes(("s0", 10, ""), ("s1", 20, ""), ("s2", 30, ""))
    whole.add(*placed)
    _, s0, _, s1, n2, _ = placed

    def change() -> None:
        whole.parts.handlers.delete(s0)
        whole.parts.handlers.update(s1, make_pod("s1", cpu="1", node="n1", priority=20))
        whole.parts.handlers.delete(n2)

    extender.then[at] = change
    whole.add(*gang(1))
    whole.schedule()
    assert extender.asked >= at
    assert_nothing_left_over(whole)
    cluster = whole.parts.cache.cluster
    assert cluster.nodes.pod_count[cluster.nodes.row_of["n1"]] == ("s1" in counted(whole))


class Answering(PodGroupPostFilterPlugin):
    """Says what it is told to, with everybody removed hypothetically; without an answer it breaks."""

    name = "DefaultPreemption"

    def __init__(self, answer: Status | None) -> None:
        self._answer = answer

    async def pod_group_post_filter(
        self, group: PodGroup, pods: Sequence[PodInfo], dry_run: PodGroupDryRun
    ) -> tuple[Nominations, Status]:
        dry_run.remove(list(dry_run.placed()))
        if self._answer is None:
            raise RuntimeError("out of order")
        return {}, self._answer


@dataclass
class Told:
    """What `attempt` needs of a profile."""

    plugins: dict[str, Plugin]


def attempt(whole: Any, plugins: dict[str, Plugin], status: Status, name: str = "gang") -> GroupResult:
    result = GroupResult(status)
    preemption = PodGroupPreemption(whole.parts.cache, whole.parts.objects)
    trial = next(iter(whole.parts.profiles))  # nobody rehearses
    profile = cast("Profile", Told(plugins))
    asyncio.run(preemption.attempt(profile, cast("GroupTrial", trial), PodGroupInfo("default", name), [], result))
    assert counted(whole) == ["s0"]
    return result


NO_PLUGIN = "default preemption plugin is not registered, workload aware preemption is disabled"


@pytest.mark.parametrize(
    ("plugins", "code", "message", "waits"),
    [
        pytest.param({"DefaultPreemption": Answering(SUCCESS)}, Code.UNSCHEDULABLE, UNSCHEDULABLE, True, id="success"),
        pytest.param(
            {"DefaultPreemption": Answering(Status.unschedulable("not enough", "resources"))},
            Code.UNSCHEDULABLE,
            f"{UNSCHEDULABLE}, not enough, resources",
            False,
            id="a rejection",
        ),
        pytest.param({"DefaultPreemption": Answering(Status.failed("bad"))}, Code.ERROR, "bad", False, id="an error"),
        pytest.param(
            {"DefaultPreemption": Answering(None)},
            Code.ERROR,
            "plugin DefaultPreemption at PodGroupPostFilter: RuntimeError: out of order",
            False,
            id="a plugin that breaks",
        ),
        pytest.param({}, Code.UNSCHEDULABLE, f"{UNSCHEDULABLE}, {NO_PLUGIN}", False, id="no plugin"),
        pytest.param(
            {"Another": Answering(SUCCESS)},
            Code.UNSCHEDULABLE,
            f"{UNSCHEDULABLE}, {NO_PLUGIN}",
            False,
            id="another plugin is not asked",
        ),
    ],
)
def test_what_the_plugin_says(
    new_scheduler: Any, plugins: dict[str, Plugin], code: Code, message: str, waits: bool
) -> None:
    """It decides; what it removed hypothetically is there again in any case."""
    whole = new_scheduler(*GATES)
    whole.add(*full_nodes(("s0", 10, "")), make_pod_group("gang"))
    result = attempt(whole, plugins, Status.unschedulable(UNSCHEDULABLE))
    assert (result.status.code, result.waits_for_preemption) == (code, waits)
    assert result.status.message.partition(" (test_pod_group_preemption.py:")[0] == message


@pytest.mark.parametrize(
    "status", [SUCCESS, Status.failed("bad"), Status.unresolvable("no")], ids=["success", "error", "unresolvable"]
)
def test_only_unschedulable_groups_preempt(new_scheduler: Any, status: Status) -> None:
    """Others fit, or room would not help them."""
    whole = new_scheduler(*GATES)
    whole.add(*full_nodes(("s0", 10, "")), make_pod_group("gang"))
    result = attempt(whole, {"DefaultPreemption": Answering(SUCCESS)}, status)
    assert (result.status, result.waits_for_preemption) == (status, False)


def test_a_group_that_is_gone(new_scheduler: Any) -> None:
    """That is an error."""
    whole = new_scheduler(*GATES)
    whole.add(*full_nodes(("s0", 10, "")))
    plugins: dict[str, Plugin] = {"DefaultPreemption": Answering(SUCCESS)}
    result = attempt(whole, plugins, Status.unschedulable(UNSCHEDULABLE), "missing")
    problem = 'failed to get pod group object: podgroup.scheduling.k8s.io "missing" not found'
    assert (result.status.code, result.status.message) == (Code.ERROR, problem)


async def test_others_have_their_turn_between_rehearsals(new_bench: Any) -> None:
    """A large cluster has many pods that could go."""
    turns = list[str]()

    class Trial:
        async def run(self, *group: object, preempts: bool) -> GroupResult:
            turns.append("rehearsal")
            return GroupResult(SUCCESS)

    async def other() -> None:
        for _ in range(3):
            turns.append("other")
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    trial, group = cast("GroupTrial", Trial()), PodGroupInfo("default", "gang")
    dry_run = CacheDryRun(new_bench().cache, trial, group, [], GroupResult(SUCCESS))
    for _ in range(3):
        await dry_run.run()
    await task
    assert turns == ["other", "rehearsal"] * 3
