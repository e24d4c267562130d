"""`kubesched top`: a cluster in the terminal."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from kubesched.apps.page.policies import Policy
from kubesched.apps.page.sources import loaded_cluster
from kubesched.apps.up.picture import LastEvents
from kubesched.cli.main import main
from kubesched.cli.top import Top, screen
from kubesched.config import FeatureGates
from kubesched.objects import Event
from kubesched.objects.meta import ObjectMeta, ObjectReference
from kubesched.testing import make_node, make_pod
from kubesched.traces import Change, ChangeType, Header, TraceWriter

MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: a, labels: {topology.kubernetes.io/zone: zone-a}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10", nvidia.com/gpu: "4"}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
spec: {unschedulable: true}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}, conditions: [{type: Ready, status: "False"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: runs}
spec: {nodeName: a, containers: [{name: c, image: x, resources: {requests: {cpu: "1", nvidia.com/gpu: "3"}}}]}
status:
  phase: Running
  conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2026-01-01T10:00:00Z"}]
---
apiVersion: v1
kind: Pod
metadata: {name: big, namespace: shop, creationTimestamp: "2026-01-02T09:00:00Z"}
spec: {containers: [{name: c, image: x, resources: {requests: {cpu: "8"}}}]}
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/2 nodes [are] available"}]
---
apiVersion: v1
kind: Pod
metadata: {name: fresh}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: gated}
spec: {schedulingGates: [{name: quota}], containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: over}
spec: {nodeName: a, containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]}
status: {phase: Succeeded}
"""


def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(MANIFESTS)
    with pytest.raises(SystemExit) as end:
        main(["top", "-f", str(path), *arguments])
    assert end.value.code in (0, None)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(
            "1 of 2 ready", id="nodes that are ready: one without conditions is not known to be anything else"
        ),
        pytest.param("1 running  0 starting  1 waiting  1 unschedulable  1 gated", id="pods, without one that ended"),
        pytest.param("nvidia.com/gpu 3/4", id="other resources"),
        pytest.param("zone-a  ████████░░░░░░░░  50%", id="a bar of what is requested of a node"),
        pytest.param("NotReady,cordoned", id="what is wrong with a node"),
        pytest.param("unschedulable  0/2 nodes [are] available", id="the scheduler's reason, and no markup"),
        pytest.param("no scheduler has reported about it yet", id="a pod without any reason"),
        pytest.param("Jan 02 09:00  shop/big", id="since when a pod waits, with the day"),
        pytest.param("it has scheduling gates: quota", id="gates"),
        pytest.param("pod/runs  Scheduled  to a", id="the last placements, where there are no events"),
    ],
)
def test_a_snapshot_of_files_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str], expected: str) -> None:
    """Everything that the live view has, as plain lines."""
    assert expected in shown(tmp_path, capsys)


def test_a_snapshot_has_no_spaces_at_the_end_of_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor escape sequences: it goes to a file or to another program."""
    text = shown(tmp_path, capsys, "--once")
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "\x1b" not in text


def test_a_snapshot_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same facts as JSON."""
    data = json.loads(shown(tmp_path, capsys, "-o", "json"))
    assert (data["summary"]["running"], data["summary"]["unschedulable"], data["waiting"]) == (1, 1, 3)
    assert data["requested"]["nvidia.com/gpu"] == {"requested": 3, "allocatable": 4}
    assert data["requested"]["cpu"] == {"requested": 1000, "allocatable": 4000}
    assert [(node["name"], node["cpu"], node["state"]) for node in data["nodes"]] == [
        ("a", 0.5, ""),
        ("b", 0.0, "NotReady,cordoned"),
    ]
    assert {row["pod"]: row.get("message", "") for row in data["pending"]} == {
        "shop/big": "0/2 nodes [are] available",
        "default/fresh": "",
        "default/gated": "it has scheduling gates: quota",
    }
    assert [(one["name"], one["note"]) for one in data["recent"]] == [("runs", "to a")]


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:PORT"}}]
users: [{name: u, user: {token: t}}]
"""


def forbids(path: str) -> tuple[int, str]:
    if path.startswith("/readyz"):
        return 200, "ok"
    message = 'pods is forbidden: User "u" cannot list'
    return 403, json.dumps({"kind": "Status", "code": 403, "reason": "Forbidden", "message": message})


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    code, body = forbids(head.split()[1].decode())
    writer.write(f"HTTP/1.1 {code} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
    await writer.drain()
    writer.close()


async def run_top(kubeconfig: Path) -> tuple[int | None, str]:
    command = [sys.executable, "-m", "kubesched", "top", "--kubeconfig", str(kubeconfig)]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    return process.returncode, errors.decode()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param(True, "error: a permission is missing: pods is forbidden", id="a cluster that forbids it"),
        pytest.param(False, "error: ", id="a cluster that does not answer"),
    ],
)
def test_a_cluster_that_cannot_be_read_is_one_clear_line(tmp_path: Path, answers: bool, expected: str) -> None:
    """No view, no traceback."""

    async def ask() -> tuple[int | None, str, int]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        if not answers:
            server.close()
            await server.wait_closed()
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG.replace("PORT", str(port)))
        try:
            return *await run_top(kubeconfig), port
        finally:
            server.close()

    code, errors, port = asyncio.run(ask())
    assert code == 1
    assert errors.startswith(expected)
    assert len(errors.splitlines()) == 1
    assert answers or str(port) in errors


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        pytest.param("5s", (1, 0), id="before the pod comes"),
        pytest.param("15s", (1, 1), id="while it waits"),
        pytest.param("2023-11-14T22:13:45Z", (2, 0), id="a time of day, when it has a node"),
        pytest.param("", (2, 1), id="the end, where a second pod waits"),
    ],
)
def test_a_moment_of_a_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], moment: str, expected: tuple[int, int]
) -> None:
    """Nodes and pods as they were then; without a moment, as they were at the end."""
    start, path = 1_700_000_000.0, tmp_path / "t.jsonl.zst"
    with TraceWriter.create(path, Header(started=start, source="record", kubernetes="v1.37.1")) as writer:
        writer.write(Change(time=start, type=ChangeType.ADDED, object=make_node("small", cpu="1")))
        writer.write(Change(time=start + 10, type=ChangeType.ADDED, object=make_pod("web", cpu="2")))
        writer.write(Change(time=start + 20, type=ChangeType.ADDED, object=make_node("large", cpu="4")))
        bound = make_pod("web", cpu="2", node="large")
        writer.write(Change(time=start + 21, type=ChangeType.MODIFIED, object=bound))
        writer.write(Change(time=start + 30, type=ChangeType.ADDED, object=make_pod("db", cpu="8")))
        writer.end(start + 60)
    with pytest.raises(SystemExit):
        main(["top", "-f", str(path), "-o", "json", *(["--at", moment] if moment else [])])
    data = json.loads(capsys.readouterr().out)
    assert (data["summary"]["nodes"], data["waiting"]) == expected
    assert data["cluster"] == f"{path} at {moment}".removesuffix(" at ")


def test_a_moment_needs_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """A live cluster has only now."""
    with pytest.raises(SystemExit):
        main(["top", "--at", "1h"])
    assert "--at is a moment of a trace" in capsys.readouterr().err


def event(number: int, minute: int) -> Event:
    about = ObjectReference(kind="Pod", namespace="default", name=f"p{number}")
    created = datetime(2026, 1, 1, 10, minute, tzinfo=UTC)
    metadata = ObjectMeta(name=f"e{number}", creation_timestamp=created)
    return Event(metadata=metadata, regarding=about, reason="Scheduled", note="note", type="Normal")


def drawn(objects: Sequence[Any], events: LastEvents, *, width: int = 120, height: int = 40) -> str:
    source = loaded_cluster(objects, "https://cluster", Policy(gates=FeatureGates()))
    console = Console(width=width, height=height, file=io.StringIO())
    console.print(screen(Top(source, events), console))
    return cast(io.StringIO, console.file).getvalue()


def test_the_live_view_shows_the_last_events_in_their_order() -> None:
    """However the server lists them."""
    events = LastEvents()
    asyncio.run(events.replace({"x": event(1, 30), "y": event(2, 10)}, set()))
    text = drawn([make_node("n1", cpu="4"), make_pod("a", cpu="2", node="n1")], events)
    assert "kubesched top · https://cluster" in text
    assert text.index("pod/p2") < text.index("pod/p1")
    assert "q: quit" in text


def test_the_live_view_says_when_the_cluster_is_out_of_reach() -> None:
    """Until it answers again: what is shown is old."""
    events, nodes = LastEvents(), [make_node("n1")]
    events.broken(ConnectionError("connection refused"))
    assert "no connection, this is what was last seen: connection refused" in drawn(nodes, events)
    events.resumed()
    assert "no connection" not in drawn(nodes, events)


@pytest.mark.parametrize(("width", "height"), [(60, 20), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("nodes", [0, 3, 30, 300])
@pytest.mark.parametrize("pods", [0, 2, 100])
def test_the_live_view_fits_the_terminal(width: int, height: int, nodes: int, pods: int) -> None:
    """However many nodes there are, and however many pods wait."""
    objects: list[Any] = [make_node(f"node-{number}", cpu="4") for number in range(nodes)]
    objects += [make_pod(f"a-pod-with-a-long-name-{number}" * 2, cpu="64") for number in range(pods)]
    events = LastEvents()
    for number in range(100):
        events.put(event(number, 1))
    lines = drawn(objects, events, width=width, height=height).splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert any("pending pod" in line for line in lines) == (pods > 0)
    assert any("p99" in line for line in lines)
