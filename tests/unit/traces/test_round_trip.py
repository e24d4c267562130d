"""A trace that was written is read back equal, whatever is cut off its end."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kubesched.errors import TraceError
from kubesched.objects import Node, Pod
from kubesched.testing import make_node, make_pod
from kubesched.traces import (
    Change,
    ChangeType,
    Decision,
    DecisionType,
    Entry,
    Gap,
    Header,
    Trace,
    TraceWriter,
    kept,
)

HEADER = Header(started=100.0, source="test", kubernetes="v1.36.4", cluster={"nodes": 2})


def entries_of_a_day() -> list[Entry]:
    pod = kept(make_pod("web", cpu="500m"))
    bound = kept(make_pod("web", cpu="500m", node="n1"))
    return [
        Change(time=100.0, type=ChangeType.ADDED, object=kept(make_node("n1", cpu="2"))),
        Change(time=100.0, type=ChangeType.ADDED, object=kept(make_node("n2", cpu="2"))),
        Change(time=101.25, type=ChangeType.ADDED, object=pod),
        Decision(time=101.5, type=DecisionType.BOUND, pod="default/web", uid=pod.metadata.uid, node="n1"),
        Change(time=101.5, type=ChangeType.MODIFIED, object=bound),
        Gap(time=200.0, since=150.0, kind="Pod", message="410 Gone"),
        Change(time=200.0, type=ChangeType.DELETED, object=bound),
    ]


def written(entries: list[Entry], *, packed: bool = True, flush_each: bool = False) -> bytes:
    file = _Kept()
    with TraceWriter(file, HEADER, packed=packed) as writer:
        for entry in entries:
            writer.write(entry)
            if flush_each:
                writer.flush()
    return file.content


class _Kept(io.BytesIO):
    content = b""

    def close(self) -> None:
        self.content = self.getvalue()
        super().close()


@pytest.mark.parametrize("name", ["day.jsonl.zst", "day.jsonl"])
def test_what_was_written_is_read(tmp_path: Path, name: str) -> None:
    """Packed or plain, header and entries come back, as often as one likes."""
    path = tmp_path / name
    with TraceWriter.create(path, HEADER) as writer:
        writer.write_all(entries_of_a_day())
    trace = Trace.open(path)
    assert trace.header.cluster == {"nodes": 2}
    assert trace.header.kubesched.startswith("v")
    assert list(trace) == entries_of_a_day()
    assert list(trace) == entries_of_a_day()
    assert trace.notes == []


def test_plain_lines_are_json_that_others_read() -> None:
    """The file is JSON lines with Kubernetes' field names."""
    lines = [json.loads(line) for line in written(entries_of_a_day(), packed=False).splitlines()]
    assert lines[0]["kubeschedTrace"] == 1
    assert lines[0]["started"] == 100.0
    assert [line["type"] for line in lines[1:]] == [*["ADDED"] * 3, "BOUND", "MODIFIED", "GAP", "DELETED"]
    assert lines[5]["kind"] == "Pod"
    assert lines[5]["object"]["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "plain"])
def test_cut_off_at_any_byte(packed: bool) -> None:
    """What was flushed before the cut is read, in order, without an error; and the cut is noted."""
    whole = written(entries_of_a_day(), packed=packed, flush_each=True)
    most = 0
    for length in range(len(whole)):
        try:
            trace = Trace.open(io.BytesIO(whole[:length]))
        except TraceError:
            assert most == 0, "once the header is readable, it stays so"
            continue
        read = list(trace)
        assert read == entries_of_a_day()[: len(read)]
        assert len(read) >= most
        most = len(read)
    assert most == len(entries_of_a_day())


def test_a_killed_recording_says_so() -> None:
    """The last bytes of the packed stream are missing."""
    trace = Trace.open(io.BytesIO(written(entries_of_a_day(), flush_each=True)[:-3]))
    assert list(trace) == entries_of_a_day()
    assert "cut off" in trace.notes[0]


@pytest.mark.parametrize(
    ("time", "pods", "nodes"),
    [
        pytest.param(100.0, {}, 2, id="at the start"),
        pytest.param(101.3, {"default/web": ""}, 2, id="arrived"),
        pytest.param(101.5, {"default/web": "n1"}, 2, id="changes at the very moment count"),
        pytest.param(None, {}, 2, id="the end"),
    ],
)
def test_state_at_a_moment(time: float | None, pods: dict[str, str], nodes: int) -> None:
    """The sum of all changes until then."""
    trace = Trace.open(io.BytesIO(written(entries_of_a_day())))
    state = trace.state_at(time)
    assert {pod.key: pod.spec.node_name for pod in state.of(Pod)} == pods
    assert state.count(Node) == nodes


def test_a_file_is_not_overwritten(tmp_path: Path) -> None:
    """Neither by accident nor by a second recording."""
    path = tmp_path / "a.jsonl.zst"
    Trace.of([make_node("n1")]).save(path)
    with pytest.raises(TraceError, match=r"a\.jsonl\.zst: the file exists already"):
        Trace.of([]).save(path)


def test_time_does_not_go_back() -> None:
    """Neither before the header nor before the last entry; nothing is written then."""
    file = io.BytesIO()
    writer = TraceWriter(file, HEADER, packed=False)
    with pytest.raises(TraceError, match=r"the time goes back from 100\.0 to 99\.0"):
        writer.write(Change(time=99.0, type=ChangeType.ADDED, object=make_node("n1")))
    writer.flush()
    assert len(file.getvalue().splitlines()) == 1
