"""What there is to see of a running cluster."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.up.picture import AttemptCounts, ClusterMonitor, LastEvents
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config
from kubesched.objects import Event
from kubesched.objects.meta import ObjectMeta, ObjectReference
from kubesched.objects.node import NodeCondition
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.testing import make_node, make_pod


class Recorder:
    def event(self, *args: Any, **more: Any) -> None: ...


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def attempts(clock: VirtualClock) -> AttemptCounts:
    return AttemptCounts(clock)


@pytest.fixture
def assembled(clock: VirtualClock, attempts: AttemptCounts) -> Assembled:
    api = MemoryApi()
    dependencies = Dependencies(api=api, recorder=Recorder(), clock=clock, random=Random(1), attempt_observer=attempts)
    built = build_scheduler(default_config(FeatureGates()), FeatureGates(), dependencies)
    api.connect(built.objects, built.handlers)
    return built


def ready(name: str, status: str = "True", **more: Any) -> Any:
    node = make_node(name, cpu="4", memory="8Gi", **more)
    conditions = (NodeCondition(type="Ready", status=status),)
    return replace(node, status=replace(node.status, conditions=conditions))


def event(number: int, reason: str = "Scheduled") -> Event:
    about = ObjectReference(kind="Pod", namespace="default", name=f"p{number}")
    return Event(metadata=ObjectMeta(name=f"e{number}"), regarding=about, reason=reason, note="note", type="Normal")


def test_pods_are_counted_by_where_they_are(assembled: Assembled, attempts: AttemptCounts) -> None:
    """Placed, starting, waiting and without a place."""
    for name in ("n1", "n2"):
        assembled.handlers.add(ready(name))
    assembled.handlers.add(ready("n3", "False", taints=["node.kubernetes.io/not-ready:NoSchedule"]))
    for name in ("a", "b"):
        assembled.handlers.add(make_pod(name, cpu="1"))
    assembled.handlers.add(make_pod("huge", cpu="64"))

    async def schedule() -> None:
        await assembled.scheduler.schedule_pending()

    asyncio.run(schedule())
    picture = ClusterMonitor(assembled, attempts, LastEvents()).picture()
    assert (picture.nodes, picture.ready_nodes) == (3, 2)
    assert (picture.starting, picture.unschedulable, picture.waiting) == (2, 1, 0)
    assert (picture.scheduled, picture.rejected) == (2, 1)


def test_nodes_show_what_is_requested_of_them(assembled: Assembled, attempts: AttemptCounts) -> None:
    """In the order of their numbers, as a part of what they offer."""
    for number in (10, 2, 1):
        assembled.handlers.add(ready(f"n{number}"))
    assembled.handlers.add(make_pod("a", cpu="1", memory="2Gi", node="n2"))
    monitor = ClusterMonitor(assembled, attempts, LastEvents())
    lines = monitor.node_lines(2)
    assert [line.name for line in lines] == ["n1", "n2"]
    assert (lines[1].cpu, lines[1].memory, lines[1].pods) == (0.25, 0.25, 1)
    assert monitor.filling() == [2, 0, 1, 0, 0, 0, 0, 0, 0, 0]


def test_the_last_events_are_kept() -> None:
    """Some hundred, numbered, so that a reader can ask for what is new."""
    events = LastEvents()
    for number in range(300):
        events.put(event(number))
    events.put(event(300, "Pulled"))
    assert [line.name for line in events.last(2)] == ["p299", "p300"]
    assert [line.name for line in events.last(1, without={"Pulled"})] == ["p299"]
    assert [line.number for line in events.since(299)] == [300, 301]


def test_the_rate_is_that_of_the_last_seconds(attempts: AttemptCounts, clock: VirtualClock) -> None:
    """It falls to nothing when nothing happens any more."""
    assert attempts.per_second() == 0.0
    for _ in range(10):
        clock.tick(0.5)
        attempts.placements.count += 50
        rate = attempts.per_second()
    assert rate == pytest.approx(100, rel=0.1)
    for _ in range(10):
        clock.tick(0.5)
        rate = attempts.per_second()
    assert rate == 0.0
