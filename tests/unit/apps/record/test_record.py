"""Recording a cluster: whatever the API server does meanwhile, the trace's state ends equal to the cluster's."""

from __future__ import annotations

import asyncio
import errno
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kubesched.apps.record.session import Progress, Recording, record
from kubesched.clock import VirtualClock
from kubesched.errors import TraceError, TransportError
from kubesched.objects import Node, Pod
from kubesched.testing.fake_api_server import FakeApiServer
from kubesched.traces import Change, ChangeType, Decision, DecisionType, Gap, Trace
from kubesched.traces.anonymise import Anonymiser

PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"


class Scene:
    def __init__(self, path: Path) -> None:
        self.server = FakeApiServer()
        self.clock = VirtualClock()
        self.path = path
        self.reports: list[Progress] = []

    def node(self, name: str, **status: Any) -> None:
        self.server.put(NODES, {"metadata": {"name": name, "uid": name}, "status": status})

    def pod(self, name: str, node: str = "", uid: str = "", **status: Any) -> None:
        spec = {"nodeName": node} if node else {}
        metadata = {"name": name, "namespace": "d", "uid": uid or name}
        self.server.put(PODS, {"metadata": metadata, "spec": spec, "status": status})

    async def wait(self, seconds: float = 2.0) -> None:
        await self.clock.advance(seconds)

    @asynccontextmanager
    async def recording(self, **options: Any) -> AsyncIterator[None]:
        stop = asyncio.Event()
        work = record(
            Recording(path=self.path, **options),
            self.server,
            self.clock,
            Random(1),
            stop=stop,
            report=self.reports.append,
        )
        task = asyncio.create_task(work)
        for _ in range(20):
            await self.clock.advance(0.01)
        try:
            yield
            await self.wait()
        finally:
            stop.set()
            await self.clock.advance(0)
            await task

    @property
    def trace(self) -> Trace:
        return Trace.open(self.path)

    def told(self) -> list[str]:
        """Each entry after the start in a few words."""
        entries = [entry for entry in self.trace if entry.time > self.trace.header.started]
        return [_in_words(entry) for entry in entries]


def _in_words(entry: Any) -> str:
    if isinstance(entry, Change):
        return f"{entry.type} {entry.object.metadata.name}"
    if isinstance(entry, Decision):
        return f"{entry.type} {entry.pod} {entry.node}{entry.message}"
    return f"GAP {entry.kind}{' complete' if entry.complete else ''}"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "t.jsonl.zst")


async def test_state_at_the_start_then_changes_with_their_decisions(scene: Scene) -> None:
    """What was there before is added at the start, the rest at its time; a decision before the change that shows it."""
    scene.node("n1")
    scene.pod("old", node="n1")
    async with scene.recording():
        scene.pod("web")
        await scene.wait()
        scene.pod("web", conditions=[_unschedulable("0/1 nodes are available")])
        await scene.wait()
        scene.pod("web", node="n1")
        await scene.wait()
        scene.server.remove(PODS, "d/old")
        await scene.wait()
    trace = scene.trace
    start = [entry for entry in trace if entry.time == trace.header.started]
    assert [_in_words(entry) for entry in start] == ["ADDED n1", "ADDED old"]
    assert scene.told() == [
        "ADDED web",
        "UNSCHEDULABLE d/web 0/1 nodes are available",
        "MODIFIED web",
        "BOUND d/web n1",
        "MODIFIED web",
        "DELETED old",
    ]
    assert trace.header.cluster == {"nodes": 1, "pods": 1}


async def test_only_reads(scene: Scene) -> None:
    """No request but GET."""
    async with scene.recording():
        scene.pod("web")
    assert {call.method for call in scene.server.calls} == {"GET"}


async def test_what_scheduling_cannot_see_is_not_written(scene: Scene) -> None:
    """A heartbeat, a status of containers, a pod that had ended before."""
    scene.node("n1", conditions=[{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}])
    scene.pod("done", node="n1", phase="Succeeded")
    async with scene.recording():
        scene.node("n1", conditions=[{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:01:00Z"}])
        scene.pod("done", node="n1", phase="Succeeded", message="again")
        await scene.wait()
        scene.server.remove(PODS, "d/done")
    assert scene.told() == []
    assert [pod.key for pod in scene.trace.state_at().of(Pod)] == []


async def test_a_pod_that_ends(scene: Scene) -> None:
    """Its end is a change; its later deletion is of no interest."""
    scene.pod("job", node="n1", phase="Running")
    async with scene.recording():
        scene.pod("job", node="n1", phase="Succeeded")
        await scene.wait()
        scene.server.remove(PODS, "d/job")
    assert scene.told() == ["MODIFIED job"]
    assert list(scene.trace.state_at().of(Pod)) == []


async def test_a_broken_watch_loses_nothing(scene: Scene) -> None:
    """The watch goes on where it was: the gap says that times may be late, and is complete."""
    scene.node("n1")
    async with scene.recording():
        scene.server.break_watches()
        await scene.clock.advance(0)
        scene.pod("web")
        await scene.wait(60.0)
    assert scene.told() == ["GAP Pod complete", "ADDED web"]


async def test_after_a_restart_the_state_is_whole(scene: Scene) -> None:
    """A server that was away and has forgotten its history: the gap is marked, and what was missed follows it."""
    scene.node("n1")
    scene.pod("stays", node="n1")
    scene.pod("goes", node="n1")
    scene.pod("again", node="n1")
    async with scene.recording():
        scene.server.down = True
        scene.server.break_watches()
        await scene.wait(30.0)
        scene.server.remove(PODS, "d/goes")
        scene.pod("again", uid="another one")
        scene.pod("comes")
        scene.server.compact()
        scene.server.down = False
        await scene.wait(120.0)
        scene.pod("later")
    told = scene.told()
    assert "GAP Pod" in told
    of_pods = told[told.index("GAP Pod") :]
    assert [word for word in of_pods if not word.startswith("GAP ")] == [
        "DELETED goes",
        "DELETED again",
        "ADDED again",
        "ADDED comes",
        "ADDED later",
    ]
    state = scene.trace.state_at()
    assert {pod.key for pod in state.of(Pod)} == {"d/stays", "d/again", "d/comes", "d/later"}
    gap = next(entry for entry in scene.trace if isinstance(entry, Gap) and entry.kind == "Pod")
    assert gap.time - gap.since >= 30.0


async def test_readable_while_it_is_written(scene: Scene) -> None:
    """Every second, what was recorded is in the file: so it is when the process is killed."""
    async with scene.recording():
        scene.pod("web")
        await scene.wait(2.0)
        assert scene.told() == ["ADDED web"]
        assert scene.reports[-1].pods == 1


async def test_ends_when_its_time_is_up(scene: Scene) -> None:
    """`--for`."""
    scene.node("n1")
    async with scene.recording(seconds=5.0):
        await scene.wait(10.0)
    assert scene.reports[-1].seconds == pytest.approx(5.0)
    assert scene.trace.notes == []


async def test_anonymised(scene: Scene) -> None:
    """No name gets into the file; the header says so, and carries no configuration."""
    scene.node("acme-1")
    options = {"anonymiser": Anonymiser(b"salt"), "configuration": {"acme": 1}}
    async with scene.recording(**options):
        scene.pod("acme-web", node="acme-1")
    trace = scene.trace
    assert trace.header.anonymised
    assert trace.header.configuration is None
    assert "acme" not in repr(list(trace))
    node = next(iter(trace.state_at().of(Node)))
    bound = next(entry for entry in trace if isinstance(entry, Decision))
    assert (bound.type, bound.node) == (DecisionType.BOUND, node.name)


async def test_no_server(scene: Scene) -> None:
    """At the start, that is an error, and no file is left behind."""
    scene.server.down = True
    with pytest.raises(TransportError):
        async with scene.recording():
            pass
    assert not scene.path.exists()


async def test_an_existing_file_is_not_touched(scene: Scene) -> None:
    """It may be yesterday's recording."""
    scene.path.write_bytes(b"precious")
    with pytest.raises(TraceError, match="exists already"):
        async with scene.recording():
            pass
    assert scene.path.read_bytes() == b"precious"


async def test_a_full_disk_ends_the_recording(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an error, not with a log line every second; what was written stays readable."""

    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            if self.tell() > 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    monkeypatch.setattr(Path, "open", lambda path, mode, buffering: Full(path, mode))
    with pytest.raises(OSError, match="No space left"):  # noqa: PT012 - it happens somewhere in there
        async with scene.recording():
            await scene.wait(2.0)
            scene.pod("web")
            await scene.wait(2.0)
    monkeypatch.undo()
    assert [entry.type for entry in scene.trace if isinstance(entry, Change)] in ([], [ChangeType.ADDED])


async def test_an_error_of_ours_ends_the_recording(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for the server's, which would be asked again and again while nothing is recorded."""
    anonymiser = Anonymiser(b"salt")
    monkeypatch.setattr(anonymiser, "entry", lambda entry: 1 / 0)
    scene.node("n1")
    with pytest.raises(ZeroDivisionError):
        async with scene.recording(anonymiser=anonymiser):
            await scene.wait(2.0)


def _unschedulable(message: str) -> dict[str, str]:
    return {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
