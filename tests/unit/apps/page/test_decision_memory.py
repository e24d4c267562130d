"""Decisions as they were taken: all of them in brief, and in full as far as time and memory allow."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.unit.apps.page.conftest import Asked, small_cluster, source_of

from kubesched.apps.page.app import Page
from kubesched.apps.page.decision_memory import AT_ONCE, SHARE, DecisionMemory
from kubesched.apps.page.policies import NO_EVENTS
from kubesched.apps.page.source import PageSource
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.simulate.virtual_scheduler import build_virtual_scheduler
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates
from kubesched.objects import Pod
from kubesched.objects.completion import completed
from kubesched.scheduler.build import Assembled, Dependencies
from kubesched.testing import make_node, make_pod


class SlowClock(VirtualClock):
    """Every look at it takes some time."""

    def __init__(self) -> None:
        super().__init__()
        self.step = 0.0
        self._looks = 0.0

    def monotonic(self) -> float:
        self._looks += self.step
        return super().monotonic() + self._looks


def scheduler(memory: DecisionMemory | None, clock: VirtualClock) -> Assembled:
    api = MemoryApi()
    dependencies = Dependencies(api=api, recorder=NO_EVENTS, clock=clock, random=Random(0), decision_observer=memory)
    assembled = build_virtual_scheduler(None, FeatureGates.parse(""), dependencies)
    api.connect(assembled.objects, assembled.handlers)
    if memory is not None:
        memory.follow(assembled.objects)
    return assembled


async def schedule(assembled: Assembled, *objects: Any) -> None:
    for obj in objects:
        assembled.handlers.add(completed(obj))
    while await assembled.scheduler.schedule_pending():
        pass


def page_of(assembled: Assembled, memory: DecisionMemory, clock: VirtualClock) -> PageSource:
    return replace(source_of([]), assembled=assembled, clock=clock, schedules=True, memory=memory)


async def test_a_decision_stays_what_it_was_though_the_cluster_changes() -> None:
    """Nodes and points of that time are shown, until somebody asks for now."""
    clock = VirtualClock()
    memory = DecisionMemory(clock)
    assembled = scheduler(memory, clock)
    await schedule(assembled, *small_cluster())
    await schedule(assembled, make_node("node-4", cpu="64", memory="64Gi"))
    page = Page(page_of(assembled, memory, clock))
    ask = Asked(page)
    _, taken = await ask("/api/decision/default/web-2")
    assert taken["basis"]["kind"] == "taken"
    assert (taken["node"], taken["best"], taken["nodes"]) == ("node-2", ["node-2"], 3)
    assert "node-4" not in taken["scores"]["nodes"]
    assert [step["point"] for step in taken["steps"]] == ["Queue", "Filter", "Score", "Bind"]
    assert taken["taken"]["feasible"] == len(taken["scores"]["nodes"])
    for place, total in enumerate(taken["scores"]["totals"]):
        assert sum(one["scores"][place] * one["weight"] for one in taken["scores"]["plugins"]) == total
    _, now = await ask("/api/decision/default/web-2?now")
    assert now["basis"] == {"kind": "now", "canShowTaken": True}
    assert now["best"] == ["node-4"]
    page.close()


async def test_the_same_points_as_an_explanation() -> None:
    """What is remembered equals what is evaluated from scratch on the state before the decision."""
    clock = VirtualClock()
    memory = DecisionMemory(clock)
    assembled = scheduler(memory, clock)
    await schedule(assembled, *small_cluster())
    page, before = Page(page_of(assembled, memory, clock)), Page(source_of(small_cluster()))
    _, taken = await Asked(page)("/api/decision/default/web-2")
    _, evaluated = await Asked(before)("/api/decision/default/web-2")
    assert taken["scores"] == evaluated["scores"]
    assert [(one["answers"][0], one["nodes"]) for one in taken["groups"]] == [
        (one["answers"][0], one["nodes"]) for one in evaluated["groups"]
    ]
    page.close()
    before.close()


async def test_pods_that_came_bound_are_evaluated_now() -> None:
    clock = VirtualClock()
    memory = DecisionMemory(clock)
    assembled = scheduler(memory, clock)
    await schedule(assembled, *small_cluster())
    page = Page(page_of(assembled, memory, clock))
    _, decision = await Asked(page)("/api/decision/default/web-1")
    assert (decision["basis"], decision["taken"]) == ({"kind": "now", "canShowTaken": False}, None)
    page.close()


async def test_a_burst_is_remembered_in_brief() -> None:
    """Keeping answers takes its share of the time and no more; what was not kept is evaluated now, and says so."""
    clock = SlowClock()
    clock.step = AT_ONCE / 10
    memory = DecisionMemory(clock)
    assembled = scheduler(memory, clock)
    pods = [make_pod(f"web-{number}", cpu="10m") for number in range(200)]
    await schedule(assembled, make_node("node-1", cpu="64"), make_node("node-2", cpu="64"), *pods)
    stored = [assembled.objects.of(Pod).get(f"default/web-{number}") for number in range(200)]
    found = [memory.of(pod) for pod in stored if pod is not None]
    assert all(taken is not None for taken, _ in found)
    kept = sum(answers is not None for _, answers in found)
    assert 0 < kept < 60
    clock.step = 0.0
    await clock.advance(10 * AT_ONCE / SHARE)
    await schedule(assembled, make_pod("later", cpu="10m"))
    later = assembled.objects.of(Pod).get("default/later")
    assert later is not None
    assert memory.of(later)[1] is not None


async def test_memory_is_bounded() -> None:
    """The oldest answers go first."""
    clock = VirtualClock()
    memory = DecisionMemory(clock, most_bytes=20_000)
    assembled = scheduler(memory, clock)
    nodes = [make_node(f"node-{number}", cpu=f"{8 + number % 5}") for number in range(50)]
    pods = [make_pod(f"web-{number}", cpu="10m") for number in range(40)]
    await schedule(assembled, *nodes, *pods)
    stored = [assembled.objects.of(Pod).get(f"default/web-{number}") for number in range(40)]
    kept = [memory.of(pod)[1] is not None for pod in stored if pod is not None]
    assert kept == sorted(kept)
    assert 0 < sum(kept) < 40
    assert memory.size <= 20_000


@pytest.mark.parametrize("observed", [True, False], ids=["with a page", "without"])
async def test_decisions_do_not_depend_on_it(observed: bool) -> None:
    clock = VirtualClock()
    assembled = scheduler(DecisionMemory(clock) if observed else None, clock)
    nodes = [make_node(f"node-{number}", cpu="8") for number in range(10)]
    await schedule(assembled, *nodes, *[make_pod(f"web-{number}", cpu="300m") for number in range(60)])
    placed = [pod.spec.node_name for pod in assembled.objects.of(Pod)]
    expected = scheduler(None, clock)
    await schedule(expected, *nodes, *[make_pod(f"web-{number}", cpu="300m") for number in range(60)])
    assert placed == [pod.spec.node_name for pod in expected.objects.of(Pod)]
