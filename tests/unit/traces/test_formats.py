"""Files of other programs are recognised by their content, and become traces."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kubesched.errors import TraceError
from kubesched.objects import Node, Pod
from kubesched.traces import FORMATS, Change, ChangeType, Decision, Entry, Trace, import_trace
from kubesched.traces.formats import manifests, recognise
from kubesched.traces.source import Source

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "n1", "creationTimestamp": "2026-01-01T00:00:00Z"},
}


def pod(name: str = "web", node: str = "", **more: Any) -> dict[str, Any]:
    spec = {"nodeName": node} if node else {}
    metadata = {"name": name, "namespace": "d", "uid": name, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **more}


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def opened(content: bytes) -> Trace:
    return Trace.open(io.BytesIO(content))


def told(trace: Trace) -> list[str]:
    words = []
    for entry in trace:
        what = (
            entry.object.metadata.name
            if isinstance(entry, Change)
            else entry.pod
            if isinstance(entry, Decision)
            else ""
        )
        words.append(f"{entry.time - trace.header.started:g} {getattr(entry, 'type', 'GAP')} {what}")
    return words


def simulator(second: float, event: str, resource: dict[str, Any]) -> dict[str, Any]:
    return {"time": f"2026-11-18T09:30:{second:09.6f}Z", "event": event, "resource": resource}


def audit(second: float, verb: str, manifest: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    metadata = (manifest or {}).get("metadata", {})
    reference = {"resource": "pods", "namespace": "d", "name": metadata.get("name", "web"), "apiVersion": "v1"}
    if (manifest or {}).get("kind") == "Node":
        reference = {"resource": "nodes", "name": metadata["name"], "apiVersion": "v1"}
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": "a",
        "stage": "ResponseComplete",
        "verb": verb,
        "objectRef": {**reference, **more.pop("ref", {})},
        "responseStatus": {"metadata": {}, "code": more.pop("code", 200)},
        **({"responseObject": manifest} if manifest else {}),
        "requestReceivedTimestamp": f"2026-11-18T09:30:{second:09.6f}Z",
        "stageTimestamp": f"2026-11-18T09:30:{second:09.6f}Z",
        **more,
    }


SIMULATOR = lines(
    simulator(0.0, "Add", NODE),
    simulator(0.5, "Add", {**NODE, "metadata": {**NODE["metadata"], "name": "n2", "uid": "n2"}}),  # type: ignore[dict-item]
    simulator(2.0, "Add", pod(metadata={"creationTimestamp": "2026-11-18T09:30:02Z"})),
    simulator(2.5, "Update", pod(node="n1", metadata={"creationTimestamp": "2026-11-18T09:30:02Z"})),
    simulator(2.5, "Add", {"apiVersion": "example.com/v1", "kind": "Robot", "metadata": {"name": "r"}}),
    simulator(9.0, "Delete", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "d"}}),
)
AUDIT = lines(
    audit(0.0, "create", NODE),
    audit(1.0, "create", pod(), code=201),
    audit(1.0, "get", pod(), code=200),
    audit(1.1, "create", None, code=409),
    audit(
        2.0,
        "create",
        None,
        code=201,
        ref={"subresource": "binding"},
        requestObject={"kind": "Binding", "target": {"kind": "Node", "name": "n1"}},
        responseObject={"kind": "Status", "status": "Success"},
    ),
    audit(3.0, "patch", pod(node="n1", status={"phase": "Running"}), ref={"subresource": "status"}),
    audit(
        4.0,
        "delete",
        pod(node="n1", metadata={"deletionGracePeriodSeconds": 30, "deletionTimestamp": "2026-11-18T09:30:34Z"}),
    ),
    audit(
        5.0,
        "delete",
        pod(node="n1", metadata={"deletionGracePeriodSeconds": 0, "deletionTimestamp": "2026-11-18T09:30:04Z"}),
    ),
    audit(6.0, "create", {"kind": "Secret", "metadata": {"name": "s"}}, ref={"resource": "secrets"}),
)


def test_simulator_recording() -> None:
    """What was listed before belongs to the start; then changes at their times, with the decisions they show."""
    assert told(opened(SIMULATOR)) == [
        "0 ADDED n1",
        "0 ADDED n2",
        "2 ADDED web",
        "2.5 BOUND d/web",
        "2.5 MODIFIED web",
        "9 DELETED web",
    ]


def test_audit_log() -> None:
    """Writes that succeeded, with the objects in their answers; bindings change the pod they bind."""
    assert told(opened(AUDIT)) == [
        "0 ADDED n1",
        "1 ADDED web",
        "2 BOUND d/web",
        "2 MODIFIED web",
        "3 MODIFIED web",
        "4 MODIFIED web",
        "5 DELETED web",
    ]


def test_dump_of_kubectl() -> None:
    """A trace of one moment: that of the youngest object. Other kinds are left out and named."""
    items = [NODE, pod(), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]
    trace = opened(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4).encode())
    assert told(trace) == ["0 ADDED n1", "0 ADDED web"]
    assert trace.left_out == ["Secret"]
    assert trace.header.started == 1767225600.0


def test_a_large_dump_in_one_line() -> None:
    """As `jq -c` writes it: the limit for lines is one for traces."""
    padding = {**NODE, "spec": {"providerID": "x" * (17 << 20)}}
    assert told(opened(json.dumps({"apiVersion": "v1", "kind": "List", "items": [padding]}).encode())) == ["0 ADDED n1"]


def test_text_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no trace has to fit into memory, also if it is packed."""
    monkeypatch.setattr(manifests, "LARGEST", 1 << 20)
    with pytest.raises(TraceError, match="more than 1 MiB of text that is no trace"):
        opened(gzip.compress(b"x" * (2 << 20)))


def test_folder_of_manifests(tmp_path: Path) -> None:
    """As `-f` of every command takes it."""
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    (tmp_path / "b.json").write_text(json.dumps(pod()))
    state = Trace.open(tmp_path).state_at()
    assert (state.count(Node), state.count(Pod)) == (1, 1)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        pytest.param(b'{"kubeschedTrace":1,"started":0}\n', "kubesched", id="ours"),
        pytest.param(SIMULATOR, "simulator", id="simulator"),
        pytest.param(AUDIT, "audit-log", id="audit log"),
        pytest.param(gzip.compress(AUDIT), "audit-log", id="packed audit log"),
        pytest.param(json.dumps(NODE).encode(), "manifests", id="one object in one line"),
        pytest.param(b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n", "manifests", id="YAML"),
        pytest.param(lines(audit(0.0, "create", pod("x" * 100_000))), "audit-log", id="a long first line"),
    ],
)
def test_recognised_by_content(content: bytes, name: str) -> None:
    """Names of files do not matter."""
    assert recognise(Source.of(io.BytesIO(content))) == name


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(SIMULATOR + b"{\n", "line 7: Input data was truncated", id="simulator: no JSON"),
        pytest.param(
            SIMULATOR + lines(simulator(9.5, "Move", NODE)), "line 7: unknown event 'Move'", id="simulator: event"
        ),
        pytest.param(
            SIMULATOR + lines({**simulator(9.5, "Add", NODE), "time": "noon"}),
            "line 7: not a time: 'noon'",
            id="no time",
        ),
        pytest.param(
            SIMULATOR + lines({**simulator(9.5, "Add", pod("late")), "time": "2026-11-18T09:00:00Z"}),
            "line 7: the time goes back by 1809 seconds",
            id="the time goes far back",
        ),
        pytest.param(
            SIMULATOR + lines(simulator(9.5, "Add", pod(spec={"priority": "high"}))), "line 7: ", id="wrong type"
        ),
        pytest.param(AUDIT + b"[1]\n", "line 10: Expected `object`, got `array`", id="audit log: no event"),
        pytest.param(AUDIT + lines({"stage": 7}), "line 10: Expected `str`, got `int`", id="audit log: wrong type"),
    ],
)
def test_broken_lines(content: bytes, problem: str) -> None:
    """One clear error with the line, after everything before it."""
    trace = opened(content + SIMULATOR[:10] + b"\n")
    entries = iter(trace)
    seen: list[Entry] = []
    with pytest.raises(TraceError) as caught:
        seen.extend(entries)
    assert problem in str(caught.value)
    assert len(seen) >= 6


def test_swapped_lines_are_put_up_with() -> None:
    """Writers that run side by side swap lines: time just stands still."""
    content = SIMULATOR + lines(simulator(8.5, "Add", pod("next")))
    assert told(opened(content))[-1] == "9 ADDED next"


def test_cut_off() -> None:
    """As after a crash of whoever wrote it."""
    trace = opened(SIMULATOR[:-20])
    assert len(told(trace)) == 5
    assert "cut off" in trace.notes[0]


def test_imports_by_name(tmp_path: Path) -> None:
    """The registry is a dict; unknown names and too many files are errors."""
    file = tmp_path / "x"
    file.write_bytes(SIMULATOR)
    assert len(list(import_trace("simulator", [file]))) == 6
    with pytest.raises(TraceError, match="unknown format 'excel'; there are kubesched, simulator"):
        import_trace("excel", [file])
    with pytest.raises(TraceError, match="takes one file, not 2"):
        import_trace("simulator", [file, file])
    assert all(entry.description for entry in FORMATS.values())


def test_saved_and_read_again(tmp_path: Path) -> None:
    """An import is a trace like any other."""
    trace = opened(AUDIT)
    trace.save(tmp_path / "a.jsonl.zst")
    again = Trace.open(tmp_path / "a.jsonl.zst")
    assert list(again) == list(opened(AUDIT))
    assert again.header.source == "audit log"
    assert {entry.type for entry in again if isinstance(entry, Change)} == set(ChangeType)
