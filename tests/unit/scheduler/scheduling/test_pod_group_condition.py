"""What users read about a pod group is right in the end, whoever else writes to it."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from kubesched.client.pod_writer import PodWriter
from kubesched.client.rest import RestClient
from kubesched.clock import VirtualClock
from kubesched.objects import PodGroup, convert
from kubesched.scheduler.framework import SUCCESS, ObjectStores, PodGroupInfo, Status
from kubesched.scheduler.scheduling.pod_group_condition import PodGroupConditions
from kubesched.testing.fake_api_server import FakeApiServer

GROUPS = "/apis/scheduling.k8s.io/v1beta1/podgroups"
GROUP = PodGroupInfo("default", "group")
UNSCHEDULABLE = Status.unschedulable("pod group is unschedulable")


class Scene:
    """A group in the API server, and what the scheduler knows of it, which may be older."""

    def __init__(self) -> None:
        self.server = FakeApiServer()
        self.clock = VirtualClock()
        self.objects = ObjectStores()
        self.conditions = PodGroupConditions(self.objects, self.clock)
        self.api = PodWriter(RestClient(self.server, self.clock, random.Random(1)), self.clock, random.Random(1))
        self.server.put(GROUPS, {"metadata": {"name": "group", "namespace": "default"}})
        self.hear()

    def hear(self) -> None:
        """What the informer does, sooner or later."""
        self.objects.of(PodGroup).set(convert(self.stored, PodGroup))

    @property
    def stored(self) -> dict[str, Any]:
        return self.server.objects[GROUPS]["default/group"]

    @property
    def found(self) -> dict[str, str]:
        return {condition["type"]: condition["status"] for condition in self.stored["status"]["conditions"]}

    def write(self, status: Status) -> asyncio.Task[None]:
        return asyncio.create_task(self.conditions.write(self.api, GROUP, status))


async def test_two_outcomes_in_quick_succession() -> None:
    """The second is known before our own first write is heard of. Nothing would ever correct it."""
    scene = Scene()
    first = scene.write(UNSCHEDULABLE)
    await scene.clock.advance(0)
    assert scene.found == {"PodGroupInitiallyScheduled": "False"}
    writing = scene.write(SUCCESS)
    await scene.clock.advance(0.1)
    scene.hear()
    await scene.clock.advance(10)
    assert writing.done()
    assert first.done()
    assert scene.found == {"PodGroupInitiallyScheduled": "True"}


async def test_the_newest_outcome_is_the_last_one_written() -> None:
    """A conflict holds up the first; the second says what the group is known to say, so that nothing seems to be left
    to write. The first must not be written after it, or instead of it.
    """
    scene = Scene()
    before = scene.write(Status.unschedulable("one node is missing"))
    await scene.clock.advance(0)
    scene.hear()
    await scene.clock.advance(10)
    assert before.done()
    scene.server.put(GROUPS, dict(scene.stored))  # somebody else: the next write is a conflict
    writing = [scene.write(Status.unschedulable("two nodes are missing"))]
    await scene.clock.advance(0.01)
    writing.append(scene.write(Status.unschedulable("one node is missing")))
    await scene.clock.advance(0.01)
    scene.hear()
    await scene.clock.advance(10)
    scene.hear()
    await scene.clock.advance(10)
    assert all(task.done() for task in writing)
    assert [condition["message"] for condition in scene.stored["status"]["conditions"]] == ["one node is missing"]


async def test_the_conditions_of_others_stay() -> None:
    """A list of conditions is written as a whole: never over one that we have not read."""
    scene = Scene()
    scene.server.put(GROUPS, {**scene.stored, "status": {"conditions": [{"type": "Theirs", "status": "True"}]}})
    writing = scene.write(SUCCESS)
    await scene.clock.advance(0.1)
    scene.hear()
    await scene.clock.advance(10)
    assert writing.done()
    assert scene.found == {"Theirs": "True", "PodGroupInitiallyScheduled": "True"}


async def test_tries_end(capsys: pytest.CaptureFixture[str]) -> None:
    """If we never hear of the newest version, the next attempt to schedule writes again."""
    scene = Scene()
    scene.server.put(GROUPS, dict(scene.stored))
    writing = scene.write(SUCCESS)
    await scene.clock.advance(0)
    await scene.clock.advance(60)
    assert writing.done()
    assert "Failed to update PodGroup status" in capsys.readouterr().err
