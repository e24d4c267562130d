from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from kubesched.objects import Pod, PodDisruptionBudget, PodGroup
from kubesched.scheduler.framework import SUCCESS, Code, CycleState, PodInfo, Status
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.group_search import search
from kubesched.scheduler.plugins.default_preemption.preemptor import Preemptor
from kubesched.testing import make_pdb, make_pod, make_pod_group
from kubesched.testing.builders import EPOCH
from kubesched.testing.handle import FakeHandle

LOW, MIDDLE, HIGH = 10, 20, 30


@dataclass
class Slots:
    """A dry_run: each slot takes a pod of the group once the pods that block it are gone."""

    pods: Sequence[PodInfo]
    slots: Sequence[frozenset[str]]
    wanted: int
    there: set[str] = field(default_factory=set)
    runs: int = 0
    nodes: dict[str, str] = field(default_factory=dict)
    attempts: dict[str, CycleState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.there = {info.pod.metadata.name for info in self.pods}

    def placed(self) -> Iterator[PodInfo]:
        return iter(self.pods)

    def remove(self, pods: Iterable[PodInfo]) -> None:
        self.there -= {info.pod.metadata.name for info in pods}

    def put_back(self, pods: Iterable[PodInfo]) -> None:
        self.there |= {info.pod.metadata.name for info in pods}

    async def run(self) -> Status:
        self.runs += 1
        free = sum(not blocking & self.there for blocking in self.slots)
        return SUCCESS if free >= self.wanted else Status.unschedulable("pod group is unschedulable")

    async def keeps_nodes(self) -> bool:
        """The pods got the first slots, which no pod blocks whose group goes as a whole."""
        return (await self.run()).is_success


@dataclass(frozen=True, kw_only=True)
class Case:
    placed: Sequence[Pod]
    slots: Sequence[set[str]]
    groups: Sequence[PodGroup] = ()
    budgets: Sequence[PodDisruptionBudget] = ()
    priority: int = HIGH
    pods: Sequence[Pod] = (make_pod("p", priority=HIGH),)
    victims: Sequence[str] = ()
    code: Code = Code.SUCCESS
    message: str = ""


def pod(name: str, priority: int = LOW, group: str = "", *, started: int = 0, app: str = "") -> Pod:
    time = EPOCH + timedelta(minutes=started)
    return make_pod(name, node="n", priority=priority, group=group, start_time=time, labels={"app": app} if app else {})


def alone(name: str) -> PodGroup:
    return make_pod_group(name, spec={"disruptionMode": "Pod"})


def whole(name: str, priority: int = LOW) -> PodGroup:
    return make_pod_group(name, spec={"disruptionMode": "PodGroup", "priority": priority})


THREE = [make_pod(f"p{k}", priority=HIGH) for k in range(3)]
ON_FOO = make_pdb(selector={"matchLabels": {"app": "foo"}})
NEVER = "not eligible due to preemptionPolicy=Never."
NOBODY = "No preemption victims found for incoming preemptor"

CASES = {
    "pods of groups are more important than others": Case(
        placed=[pod("a"), pod("b", group="g"), pod("c", group="h")],
        groups=[alone("g"), alone("h")],
        slots=[{"a"}, {"b"}, {"c"}],
        victims=["a"],
    ),
    "a higher priority counts more than a group": Case(
        placed=[pod("a", group="g", started=1), pod("b", group="g"), pod("c", MIDDLE)],
        groups=[alone("g")],
        slots=[{"a"}, {"b"}, {"c"}],
        victims=["a"],
    ),
    "of one group the pod that started last": Case(
        placed=[pod("a", group="g", started=1), pod("b", group="g")],
        groups=[alone("g")],
        slots=[{"a"}, {"b"}],
        victims=["a"],
    ),
    "three pods need three": Case(
        placed=[
            pod("a", group="g", started=2),
            pod("b", group="g", started=1),
            pod("c", group="h"),
            pod("d", MIDDLE),
            pod("e", HIGH, group="i"),
        ],
        groups=[alone("g"), alone("h"), alone("i")],
        slots=[{"a"}, {"b"}, {"c"}, {"d"}, {"e"}],
        pods=THREE,
        victims=["c", "b", "a"],
    ),
    "a budget protects": Case(
        placed=[pod("a", app="foo"), pod("b")], budgets=[ON_FOO], slots=[{"a"}, {"b"}], victims=["b"]
    ),
    "a budget protects a pod of a group": Case(
        placed=[pod("a", group="g", app="foo"), pod("b", group="g")],
        budgets=[ON_FOO],
        slots=[{"a"}, {"b"}],
        victims=["b"],
    ),
    "a budget that protects all protects the most important": Case(
        placed=[pod("a", app="foo"), pod("b", MIDDLE, app="foo")],
        budgets=[ON_FOO],
        slots=[{"a"}, {"b"}],
        victims=["a"],
    ),
    "a budget of one pod protects its whole group": Case(
        placed=[pod("a1", group="g", app="foo"), pod("a2", group="g"), pod("b")],
        groups=[whole("g")],
        budgets=[ON_FOO],
        slots=[{"a1"}, {"b"}],
        victims=["b"],
    ),
    "one pod that never preempts keeps the group from it": Case(
        placed=[pod("a")],
        slots=[{"a"}],
        pods=[make_pod("p", priority=HIGH, preemption_policy="Never"), make_pod("q", priority=HIGH)],
        code=Code.UNSCHEDULABLE,
        message=NEVER,
    ),
    "a single pod of lower priority": Case(placed=[pod("a")], slots=[{"a"}], victims=["a"]),
    "the one of lowest priority": Case(
        placed=[pod("a"), pod("b", MIDDLE), pod("c", HIGH)], slots=[{"a"}, {"b"}, {"c"}], victims=["a"]
    ),
    "as few as possible": Case(
        placed=[pod("a"), pod("b"), pod("c"), pod("d")], slots=[{"a", "b"}, {"a"}], victims=["a"]
    ),
    "a group goes as a whole, wherever its pods are": Case(
        placed=[pod("a", group="g"), pod("b", group="g")], groups=[whole("g")], slots=[{"a"}], victims=["a", "b"]
    ),
    "a group as a whole, and nobody of higher priority": Case(
        placed=[pod("a1", group="g"), pod("a2", group="g"), pod("b", MIDDLE)],
        groups=[whole("g")],
        slots=[{"a1"}],
        victims=["a1", "a2"],
    ),
    "rather a pod than a group": Case(
        placed=[pod("b"), pod("a1", group="g"), pod("a2", group="g")],
        groups=[whole("g")],
        slots=[{"a1", "a2"}, {"b"}],
        victims=["b"],
    ),
    "nobody of lower priority": Case(
        placed=[pod("a", HIGH)], slots=[{"a"}], priority=MIDDLE, code=Code.UNRESOLVABLE, message=NOBODY
    ),
    "nobody at all": Case(placed=[], slots=[], code=Code.UNRESOLVABLE, message=NOBODY),
    "the priority of a group counts, not that of its pods": Case(
        placed=[pod("a", HIGH, group="g"), pod("b", HIGH, group="g")],
        groups=[whole("g", MIDDLE)],
        slots=[{"a"}],
        victims=["a", "b"],
    ),
    "a group that is more important than its pods": Case(
        placed=[pod("a", group="g"), pod("b", group="g")],
        groups=[whole("g", MIDDLE)],
        slots=[{"a"}],
        priority=MIDDLE,
        code=Code.UNRESOLVABLE,
        message=NOBODY,
    ),
    "the priority of the preemptor is that of its group": Case(
        placed=[pod("a", MIDDLE, group="g"), pod("b", MIDDLE, group="g")],
        groups=[whole("g", MIDDLE)],
        slots=[{"a"}],
        pods=[make_pod("p", priority=LOW)],
        victims=["a", "b"],
    ),
    "pods that are more important than their group preempt nobody": Case(
        placed=[pod("a", MIDDLE)], slots=[{"a"}], priority=LOW, code=Code.UNRESOLVABLE, message=NOBODY
    ),
    "no room even without all others": Case(
        placed=[pod("a"), pod("b", HIGH)],
        slots=[{"a", "b"}],
        code=Code.UNSCHEDULABLE,
        message="pod group is unschedulable",
    ),
    "the group fits after all": Case(placed=[pod("a")], slots=[set()], victims=[]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_search(case: Case) -> None:
    """The cases of upstream's TestPodGroupEvaluator_SelectVictimsOnDomain, and some more."""
    handle = FakeHandle().load(*case.groups, *case.budgets)
    info = handle.cluster.templates.info
    group = make_pod_group("preemptor", spec={"priority": case.priority})
    preemptor = Preemptor.of_group(group, [info(pod) for pod in case.pods])
    slots = [frozenset(blocking) for blocking in case.slots]
    dry_run = Slots([info(pod) for pod in case.placed], slots, wanted=len(case.pods))
    budgets = Budgets(handle.objects.of(PodDisruptionBudget))
    victims, status = asyncio.run(search(preemptor, handle.objects.of(PodGroup), budgets, dry_run))
    assert (status.code, status.message) == (case.code, case.message)
    assert [pod.metadata.name for pod in victims.pods] == list(case.victims)
    if status.is_success:
        gone = {pod.metadata.name for pod in case.placed} - dry_run.there
        assert gone == set(case.victims), "what was rehearsed last is what is done"


def test_nothing_is_rehearsed_in_vain() -> None:
    """Once with everybody gone, and then once for each unit."""
    info = FakeHandle().cluster.templates.info
    placed = [info(pod(name)) for name in "abc"]
    dry_run = Slots(placed, [frozenset("a")], wanted=1)
    preemptor = Preemptor.of_group(make_pod_group("g", spec={"priority": HIGH}), [info(make_pod("p"))])
    stores = FakeHandle().objects
    asyncio.run(search(preemptor, stores.of(PodGroup), Budgets(stores.of(PodDisruptionBudget)), dry_run))
    assert dry_run.runs == 4
