"""Events: written, repeated as series, retried, and never in the way."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kubesched.client.recorder import FINISH_SECONDS, GATHER_SECONDS, QUEUE_LENGTH, REFRESH_SECONDS, EventRecorder
from kubesched.client.rest import RestClient
from kubesched.clock import VirtualClock
from kubesched.errors import TransportError
from kubesched.objects import Node, Pod
from kubesched.objects.meta import ObjectMeta
from kubesched.testing.fake_api_server import FakeApiServer, failure

EVENTS = "/apis/events.k8s.io/v1/events"
POD = Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u1", resource_version="7"))


class Scene:
    def __init__(self) -> None:
        self.server = FakeApiServer()
        self.clock = VirtualClock()
        rest = RestClient(self.server, self.clock, random.Random(1))
        self.recorder = EventRecorder(
            rest, self.clock, random.Random(1), reporting_controller="default-scheduler", hostname="host"
        )

    def record(self, pod: Pod = POD, note: str = "0/1 nodes") -> None:
        self.recorder.event(pod, "Warning", "FailedScheduling", "Scheduling", note)

    async def wait(self, seconds: float = GATHER_SECONDS) -> None:
        await self.clock.advance(0)
        await self.clock.advance(seconds)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.recorder.start()
        await self.wait(0)
        yield
        await self.recorder.stop()


async def test_writes_an_event_as_client_go_does() -> None:
    """Every field."""
    scene = Scene()
    node = Node(metadata=ObjectMeta(name="n1", uid="u2"))
    async with scene.running():
        scene.recorder.event(POD, "Normal", "Scheduled", "Binding", "assigned", related=node)
        await scene.wait()
    assert scene.server.calls[0].path == "/apis/events.k8s.io/v1/namespaces/d/events"
    assert scene.server.calls[0].body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "p.17979cfe362a0000", "namespace": "d"},
        "eventTime": "2023-11-14T22:13:20.000001Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "d",
            "name": "p",
            "uid": "u1",
            "resourceVersion": "7",
        },
        "related": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u2"},
        "note": "assigned",
        "type": "Normal",
    }


async def test_events_are_written_together_a_moment_later() -> None:
    """The first one waits for those that follow, each with the time at which it happened."""
    scene = Scene()
    async with scene.running():
        scene.record()
        await scene.wait(GATHER_SECONDS / 2)
        scene.record(Pod(metadata=ObjectMeta(name="q", namespace="d")))
        assert not scene.server.calls
        await scene.wait(GATHER_SECONDS / 2)
    assert [call.body["eventTime"] for call in scene.server.calls] == [
        "2023-11-14T22:13:20.000001Z",
        "2023-11-14T22:13:20.010000Z",
    ]


async def test_an_event_that_cannot_be_made_does_not_hinder_others() -> None:
    """A plugin may hand in anything."""
    scene = Scene()
    async with scene.running():
        scene.recorder.event("no object", "Normal", "R", "A", "note")  # type: ignore[arg-type] # the point of it
        scene.record()
        await scene.wait()
    assert scene.recorder.dropped == 1
    assert [call.body["reason"] for call in scene.server.calls] == ["FailedScheduling"]


async def test_equal_events_become_a_series() -> None:
    """The second is written as a series of two; later ones are only counted until the series ends."""
    scene = Scene()
    async with scene.running():
        for _ in range(5):
            scene.record()
            await scene.wait(1)
        assert [call.method for call in scene.server.calls] == ["POST", "PATCH"]
        assert scene.server.calls[1].body["series"]["count"] == 2
        await scene.wait(721)
        assert scene.server.calls[-1].body["series"] == {
            "count": 5,
            "lastObservedTime": "2023-11-14T22:13:24.000001Z",
        }
        scene.record()
        await scene.wait()
        assert scene.server.calls[-1].method == "POST"


async def test_a_running_series_is_refreshed() -> None:
    """Every half an hour its count is written, so that the server does not let it expire."""
    scene = Scene()
    async with scene.running():
        for _ in range(31):
            scene.record()
            await scene.wait(60)
        counts = [call.body["series"]["count"] for call in scene.server.calls_of("PATCH")]
        assert counts == [2, 30]


async def test_a_series_whose_event_is_gone_is_created_anew() -> None:
    """The server lets events expire."""
    scene = Scene()
    async with scene.running():
        scene.record()
        await scene.wait()
        scene.server.remove(EVENTS, next(iter(scene.server.objects[EVENTS])))
        scene.record()
        await scene.wait()
        assert [call.method for call in scene.server.calls] == ["POST", "PATCH", "POST"]
        assert scene.server.calls[-1].body["series"]["count"] == 2


async def test_retries_while_the_server_is_away_and_gives_up_on_a_rejection() -> None:
    """Ten seconds between tries; an answer other than success is final."""
    scene = Scene()
    async with scene.running():
        scene.server.failures = [TransportError("reset")]
        scene.record()
        await scene.wait(13)
        assert [call.method for call in scene.server.calls] == ["POST", "POST"]
        scene.server.failures = [failure(403, "Forbidden", "namespace is being terminated")]
        scene.record(Pod(metadata=ObjectMeta(name="q", namespace="d")))
        await scene.wait(60)
        assert len(scene.server.calls) == 3
        assert scene.recorder.dropped == 1


async def test_words_that_cannot_be_written_are_dropped_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A plugin may read anything from anywhere; the events of others go on, also after the counts were refreshed."""
    scene = Scene()
    async with scene.running():
        for _ in range(3):
            scene.recorder.event(POD, "Warning", "\ud800", "Scheduling", "half a character")
            await scene.wait()
        assert scene.recorder.dropped == 2  # the third one only counted
        assert "Unable to write event" in capsys.readouterr().err
        await scene.wait(REFRESH_SECONDS + FINISH_SECONDS)
        scene.record()
        await scene.wait()
        assert len(scene.server.calls) == 1


async def test_a_full_queue_drops_and_counts() -> None:
    """Recording neither waits nor raises."""
    scene = Scene()
    for number in range(QUEUE_LENGTH + 5):
        scene.record(Pod(metadata=ObjectMeta(name=f"p{number}", namespace="d")))
    assert scene.recorder.dropped == 5


async def test_stopping_with_grace_writes_what_is_queued() -> None:
    """The last events of a leader are not lost."""
    scene = Scene()
    scene.recorder.start()
    scene.record()
    await scene.recorder.stop(grace=5.0)
    assert len(scene.server.calls) == 1
