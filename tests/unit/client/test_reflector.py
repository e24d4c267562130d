"""A local copy stays equal to the server's, whatever happens on the way. Reflector and informer together."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kubesched.client.informer import Informer, InformerFactory
from kubesched.client.rest import RestClient
from kubesched.clock import VirtualClock
from kubesched.errors import TransportError
from kubesched.objects import Node, Pod
from kubesched.testing.fake_api_server import FakeApiServer, failure

PODS = "/api/v1/pods"


class Heard:
    """A handler that writes down what it hears."""

    def __init__(self) -> None:
        self.changes: list[str] = []

    def on_add(self, value: Pod, is_initial: bool) -> None:
        self.changes.append(f"+{value.metadata.name}{' (initial)' if is_initial else ''}")

    def on_update(self, old: Pod, new: Pod) -> None:
        self.changes.append(f"~{new.metadata.name} {old.spec.node_name or '-'}>{new.spec.node_name or '-'}")

    def on_delete(self, last_known: Pod, maybe_stale: bool) -> None:
        self.changes.append(f"-{last_known.metadata.name}{' (stale)' if maybe_stale else ''}")

    def take(self) -> list[str]:
        changes, self.changes = self.changes, []
        return changes


class Scene:
    def __init__(self) -> None:
        self.server = FakeApiServer()
        self.clock = VirtualClock()
        self.informer: Informer[Pod] = Informer(Pod)
        self.heard = Heard()
        self.informer.add_handler(self.heard)

    def pod(self, name: str, node: str = "") -> None:
        spec = {"nodeName": node} if node else {}
        self.server.put(PODS, {"metadata": {"name": name, "namespace": "d"}, "spec": spec})

    def names(self) -> list[str]:
        return [pod.metadata.name for pod in self.informer]

    async def wait(self, seconds: float = 0.0) -> None:
        """Let everybody run who can, then let time pass."""
        await self.clock.advance(0)
        await self.clock.advance(seconds)

    @asynccontextmanager
    async def running(self, **selection: str) -> AsyncIterator[None]:
        rest = RestClient(self.server, self.clock, random.Random(1))
        task = asyncio.create_task(self.informer.run(rest, self.clock, random.Random(2), **selection))
        await self.clock.advance(0)
        yield
        task.cancel()
        await asyncio.wait({task})


both_ways = pytest.mark.parametrize(
    "streams_lists",
    [pytest.param(True, id="with a streamed list"), pytest.param(False, id="with paged lists")],
)


@both_ways
async def test_lists_then_watches(streams_lists: bool) -> None:
    """Initial objects are told as such, later ones as news."""
    scene = Scene()
    scene.server.streams_lists = streams_lists
    scene.pod("a")
    async with scene.running():
        assert scene.informer.has_synced
        assert scene.heard.take() == ["+a (initial)"]
        scene.pod("b")
        scene.pod("a", node="n1")
        await scene.wait()
        assert scene.heard.take() == ["+b", "~a ->n1"]
        scene.server.remove(PODS, "d/a")
        await scene.wait()
        assert scene.heard.take() == ["-a"]
        assert scene.informer.last_sync_resource_version == "4"


async def test_a_paged_list_takes_all_pages() -> None:
    """More objects than a page holds."""
    scene = Scene()
    scene.server.streams_lists = False
    for number in range(2200):
        scene.pod(f"p{number}")
    async with scene.running():
        await scene.wait()
        assert len(scene.informer) == 2200
        assert [call.query.partition("continue=")[2] for call in scene.server.calls[1:4]] == ["", "1000", "2000"]


async def test_a_first_list_that_breaks_off_is_corrected() -> None:
    """Objects are told page by page; what changed until the next, complete list is told as a change."""
    scene = Scene()
    scene.informer = Informer(Pod, first_list_in_pages=True)
    for number in range(1200):
        scene.pod(f"p{number}")

    class BreaksOff(Heard):
        def on_add(self, value: Pod, is_initial: bool) -> None:
            if not self.changes:
                scene.server.failures = [failure(410, "Expired", "the token is too old")]
            super().on_add(value, is_initial)

    heard = BreaksOff()
    scene.informer.add_handler(heard)
    async with scene.running():
        await scene.wait()
        assert (len(heard.take()), scene.informer.has_synced) == (1000, False)
        scene.server.remove(PODS, "d/p0")
        scene.pod("p1", node="n1")
        heard.changes = ["from here"]
        await scene.wait(2)
        assert scene.informer.has_synced
        changes = [change for change in heard.take() if "(initial)" not in change]
        assert sorted(changes) == ["-p0 (stale)", "from here", "~p1 ->n1"]
        assert len(scene.informer) == 1199


async def test_a_first_list_in_pages_is_followed_by_streamed_ones() -> None:
    """Pages for the start; a relist, which comes when the server is in trouble, is a stream."""
    scene = Scene()
    scene.informer = Informer(Pod, first_list_in_pages=True)
    scene.pod("a")
    async with scene.running():
        assert scene.informer.has_synced
        assert not any("sendInitialEvents" in call.query for call in scene.server.calls)
        scene.server.failures = [failure(410, "Expired", "too old")]
        scene.server.break_watches()
        await scene.wait(60)
        scene.pod("b")
        await scene.wait()
        assert scene.names() == ["a", "b"]
        assert any("sendInitialEvents" in call.query for call in scene.server.calls)


@both_ways
async def test_a_large_list_lets_others_run(streams_lists: bool) -> None:
    """Between batches the loop gets a turn: others advance while a large list is taken in."""
    scene = Scene()
    scene.server.streams_lists = streams_lists
    for number in range(450):
        scene.pod(f"p{number}")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while not scene.informer.has_synced:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    async with scene.running():
        await task
        assert turns >= 8


@both_ways
async def test_gone_versions_end_in_a_relist_that_tells_what_was_missed(streams_lists: bool) -> None:
    """410 in the stream: changes and deletions of the gap are delivered, with the last known object."""
    scene = Scene()
    scene.server.streams_lists = streams_lists
    for name in ("gone", "kept", "changed"):
        scene.pod(name)
    async with scene.running():
        scene.heard.take()
        scene.server.down = True
        scene.server.break_watches()
        await scene.wait(1)
        scene.server.remove(PODS, "d/gone")
        scene.pod("changed", node="n1")
        scene.pod("new")
        scene.server.compact()
        scene.server.down = False
        await scene.wait(60)
        assert scene.heard.take() == ["-gone (stale)", "~changed ->n1", "+new"]
        scene.pod("later")
        await scene.wait()
        assert scene.heard.take() == ["+later"]


async def test_gone_as_an_http_answer() -> None:
    """410 before the stream opens is the same."""
    scene = Scene()
    scene.pod("a")
    async with scene.running():
        scene.heard.take()
        scene.server.failures = [failure(410, "Expired", "too old")]
        scene.server.break_watches()
        await scene.wait(60)
        scene.pod("b")
        await scene.wait()
        assert scene.heard.take() == ["+b"]
        assert any("sendInitialEvents" in call.query for call in scene.server.calls[2:])


async def test_a_broken_watch_goes_on_where_it_was() -> None:
    """No relist, nothing told twice."""
    scene = Scene()
    scene.pod("a")
    async with scene.running():
        scene.heard.take()
        scene.server.break_watches()
        scene.pod("b")
        await scene.wait(5)
        assert scene.heard.take() == ["+b"]
        assert "resourceVersion=1" in scene.server.calls[-1].query


async def test_no_busy_loop_while_the_server_is_down() -> None:
    """Tries get rarer: 800 ms doubling to 30 s, stretched by up to as much again."""
    scene = Scene()
    scene.pod("a")
    tries = 0
    refused = TransportError("connection refused", request_sent=False)
    async with scene.running():
        scene.server.failures = [refused] * 1000
        scene.server.break_watches()
        await scene.wait(600)
        tries = 1000 - len(scene.server.failures)
        scene.server.failures = []
        scene.pod("b")
        await scene.wait(61)
        assert scene.names() == ["a", "b"]
    assert 12 <= tries <= 30


async def test_no_busy_loop_with_a_server_that_refuses_slowly() -> None:
    """An overloaded server refuses after seconds: tries get rarer all the same."""

    class Overloaded(FakeApiServer):
        async def stream(self, path: str, *, query: str = "", time_limit: float) -> AsyncGenerator[bytes, None]:
            if self.failures:
                await scene.clock.sleep(3.0)
            async for chunk in super().stream(path, query=query, time_limit=time_limit):
                yield chunk

    scene = Scene()
    scene.server = Overloaded()
    scene.pod("a")
    async with scene.running():
        scene.server.failures = [failure(503, "ServiceUnavailable", "etcd is slow")] * 1000
        scene.server.break_watches()
        await scene.wait(600)
        tries = 1000 - len(scene.server.failures)
    assert tries <= 25


async def test_the_first_list_waits_for_the_server() -> None:
    """Started before the server is up, it syncs once the server is."""
    scene = Scene()
    scene.server.down = True
    async with scene.running():
        await scene.wait(20)
        assert not scene.informer.has_synced
        scene.pod("a")
        scene.server.down = False
        await scene.wait(60)
        assert scene.names() == ["a"]


async def test_an_object_that_does_not_decode_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    """It is logged with its path; an earlier good version stays; its deletion works; others go on."""
    scene = Scene()
    broken = {"metadata": {"name": "bad", "namespace": "d"}, "spec": {"priority": "high"}}
    scene.server.put(PODS, dict(broken))
    scene.pod("good")
    async with scene.running():
        assert scene.names() == ["good"]
        assert "spec.priority" in capsys.readouterr().err
        scene.server.put(PODS, {"metadata": {"name": "good", "namespace": "d"}, "spec": {"priority": "high"}})
        scene.pod("other")
        await scene.wait()
        assert scene.names() == ["good", "other"]
        scene.server.compact()
        scene.server.break_watches()
        await scene.wait(60)
        assert scene.names() == ["good", "other"]
        scene.heard.take()
        scene.server.remove(PODS, "d/bad")
        scene.server.remove(PODS, "d/good")
        await scene.wait()
        assert scene.heard.take() == ["-good (stale)"]


async def test_a_handler_that_raises_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    """The store and the other handlers go on."""

    class Broken(Heard):
        def on_add(self, value: Pod, is_initial: bool) -> None:
            raise RuntimeError("oops")

    scene = Scene()
    scene.informer.add_handler(Broken())
    scene.informer.add_handler(late := Heard())
    scene.pod("a")
    async with scene.running():
        assert late.take() == ["+a (initial)"]
        assert "oops" in capsys.readouterr().err


async def test_a_late_handler_knows_what_is_there() -> None:
    """Whoever comes later sees the same."""
    scene = Scene()
    scene.pod("a", node="n1")
    async with scene.running():
        scene.informer.add_handler(late := Heard())
        assert late.take() == ["+a (initial)"]
        scene.server.remove(PODS, "d/a")
        await scene.wait()
        assert scene.informer.get("a", "d") is None


async def test_selectors_are_sent() -> None:
    """Pods that ran to their end are not even sent to us."""
    scene = Scene()
    async with scene.running(field_selector="status.phase!=Failed", namespace="d"):
        assert scene.server.calls[0].path == "/api/v1/namespaces/d/pods"
        assert "fieldSelector=status.phase%21%3DFailed" in scene.server.calls[0].query


async def test_the_factory_starts_and_stops_all() -> None:
    """One informer per kind; all first lists are awaited."""
    server, clock = FakeApiServer(), VirtualClock()
    server.put(PODS, {"metadata": {"name": "a", "namespace": "d"}})
    server.put("/api/v1/nodes", {"metadata": {"name": "n"}})
    factory = InformerFactory(RestClient(server, clock, random.Random(1)), clock, random.Random(1))
    pods, nodes = factory.informer(Pod), factory.informer(Node)
    assert factory.informer(Pod) is pods
    factory.start()
    await factory.wait_for_sync()
    assert (len(pods), len(nodes)) == (1, 1)
    await factory.stop()
    server.put("/api/v1/nodes", {"metadata": {"name": "later"}})
    await clock.advance(0)
    assert len(nodes) == 1
