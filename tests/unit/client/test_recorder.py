"""Events: names, series, retries, and never in the way."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kubesched.client.recorder import QUEUE_LENGTH, EventRecorder, truncate
from kubesched.client.rest import RestClient
from kubesched.clock import VirtualClock
from kubesched.errors import TransportError
from kubesched.objects import Node, ObjectMeta, Pod
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

    async def wait(self, seconds: float = 0.0) -> None:
        await self.clock.advance(0)
        await self.clock.advance(seconds)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.recorder.start()
        await self.wait()
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


async def test_a_different_event_is_no_repetition() -> None:
    """Another version of the pod, another reason: another event."""
    scene = Scene()
    async with scene.running():
        scene.record()
        scene.record(Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u1", resource_version="8")))
        await scene.wait()
    names = [call.body["metadata"]["name"] for call in scene.server.calls]
    assert names == ["p.17979cfe362a0000", "p.17979cfe362a0001"]


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


async def test_a_full_queue_drops_and_counts() -> None:
    """Recording neither waits nor raises."""
    scene = Scene()
    for number in range(QUEUE_LENGTH + 5):
        scene.record(Pod(metadata=ObjectMeta(name=f"p{number}", namespace="d")))
    assert scene.recorder.dropped == 5


async def test_the_oldest_event_is_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory has a bound: what was forgotten starts anew, what is remembered becomes a series."""
    monkeypatch.setattr("kubesched.client.recorder.MOST_REMEMBERED", 2)
    scene = Scene()
    first, second, third = (Pod(metadata=ObjectMeta(name=name, namespace="d")) for name in ("p1", "p2", "p3"))
    async with scene.running():
        for pod in (first, second, third, first, third):
            scene.record(pod)
            await scene.wait()
    assert [call.method for call in scene.server.calls] == ["POST", "POST", "POST", "POST", "PATCH"]


async def test_stopping_with_grace_writes_what_is_queued() -> None:
    """The last events of a leader are not lost."""
    scene = Scene()
    scene.recorder.start()
    scene.record()
    await scene.recorder.stop(grace=5.0)
    assert len(scene.server.calls) == 1


async def test_a_name_that_is_no_name_for_an_event_becomes_a_uuid() -> None:
    """Some kinds allow names that events do not."""
    scene = Scene()
    async with scene.running():
        scene.record(Pod(metadata=ObjectMeta(name="Not:Valid", namespace="")))
        await scene.wait()
    metadata = scene.server.calls[0].body["metadata"]
    assert len(metadata["name"]) == 36
    assert metadata["namespace"] == "default"


@pytest.mark.parametrize(
    ("note", "length"),
    [
        pytest.param("a" * 1024, 1024, id="just fits"),
        pytest.param("a" * 2000, 1024, id="too long"),
        pytest.param("ä" * 1000, 1024, id="counted in bytes, cut between characters"),
    ],
)
def test_notes_are_cut(note: str, length: int) -> None:
    """The API server accepts 1024 bytes."""
    cut = truncate(note)
    assert len(cut.encode()) == length
    assert cut == note or cut.endswith(" ...")
