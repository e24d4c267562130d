"""`kubesched trace` and traces given to other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesched.cli.main import main
from kubesched.objects import load_manifests
from kubesched.testing import make_node, make_pod
from kubesched.traces import Change, ChangeType, Header, Trace, TraceWriter

START = 1_700_000_000.0


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A node at the start; a pod that does not fit comes after 10 s, a larger node after 20 s; watched for a minute."""
    path = tmp_path / "t.jsonl.zst"
    header = Header(started=START, source="record", kubernetes="v1.36.4")
    with TraceWriter.create(path, header) as writer:
        writer.write(Change(time=START, type=ChangeType.ADDED, object=make_node("small", cpu="1")))
        writer.write(Change(time=START + 10, type=ChangeType.ADDED, object=make_pod("web", cpu="2")))
        writer.write(Change(time=START + 20, type=ChangeType.ADDED, object=make_node("large", cpu="4")))
        writer.end(START + 60)
    return path


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


def test_show(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Facts and curves."""
    assert run("trace", "show", trace) == 0
    shown = capsys.readouterr().out
    assert "2023-11-14 22:13:20Z to 2023-11-14 22:14:20Z (1m0s)" in shown
    assert "2 Node, 1 Pod" in shown
    assert "arrivals" in shown


def test_show_as_json(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For programs."""
    assert run("trace", "show", trace, "-o", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["atEnd"] == {"Node": 2, "Pod": 1}
    assert shown["ended"] - shown["started"] == 60
    assert shown["columns"][-1]["pending"] == 1


def test_show_what_is_readable_of_a_broken_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything before the bad line, one error, and exit code 1."""
    path = tmp_path / "broken.jsonl"
    Trace.of([make_node("n1")]).save(path)
    path.write_bytes(path.read_bytes() + b"{\n")
    assert run("trace", "show", path) == 1
    shown = capsys.readouterr()
    assert "1 Node" in shown.out
    assert shown.err == f"error: {path}: line 3: Input data was truncated\n"


def test_slice_and_export(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A part is a trace; a moment of it is manifests that are loaded again."""
    part = tmp_path / "part.jsonl"
    assert run("trace", "slice", trace, "--from", "15s", "--to", "2023-11-14T22:13:40Z", "-o", part) == 0
    capsys.readouterr()
    assert run("trace", "export", part, "--at", "0s") == 0
    names = [obj.metadata.name for obj in load_manifests(capsys.readouterr().out, "export")]  # type: ignore[attr-defined]
    assert sorted(names) == ["small", "web"]
    assert Trace.open(part).state_at().time == START + 20


def test_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From manifests, for one."""
    source, target = tmp_path / "n.yaml", tmp_path / "n.jsonl.zst"
    source.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    assert run("trace", "import", "manifests", source, "-o", target) == 0
    assert len(list(Trace.open(target))) == 1
    assert run("trace", "import", "manifests", source, "-o", target) == 1
    assert "the file exists already" in capsys.readouterr().err
    assert run("trace", "formats") == 0
    assert "audit-log" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        pytest.param(["--at", "15s"], "fits nowhere", id="before the large node"),
        pytest.param(["--at", "20s"], "large", id="with it"),
        pytest.param([], "large", id="the end"),
    ],
)
def test_explain_at_a_moment(trace: Path, capsys: pytest.CaptureFixture[str], moment: list[str], said: str) -> None:
    """Why a pod was pending then."""
    assert run("explain", "web", "-f", trace, *moment) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(["explain", "web", "-f", "MANIFEST", "--at", "1s"], "--at is a moment of a trace", id="no trace"),
        pytest.param(["explain", "web", "-f", "TRACE", "--at", "soon"], "'soon' is no moment", id="no moment"),
        pytest.param(["trace", "show", "missing"], "missing: cannot be read: No such file", id="no file"),
        pytest.param(["trace", "import", "excel", "TRACE", "-o", "x"], "unknown format 'excel'", id="no format"),
        pytest.param(
            ["trace", "import", "manifests", "TRACE", "-o", "x", "--option", "a"], "expected NAME=VALUE", id="no option"
        ),
        pytest.param(
            ["trace", "slice", "TRACE", "--from", "2m", "--to", "1m", "-o", "x"],
            "--from 2m is after --to 1m",
            id="order",
        ),
        pytest.param(["record", "--for", "soon"], "--for: time: invalid duration", id="no duration"),
        pytest.param(
            ["record", "--for", "-1s"], "--for: expected a duration greater than zero", id="negative duration"
        ),
        pytest.param(["record", "-o", "TRACE"], "the file exists already", id="file exists"),
    ],
)
def test_mistakes(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    """One clear line each."""
    manifest = tmp_path / "m.yaml"
    manifest.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    places = {"TRACE": str(trace), "MANIFEST": str(manifest)}
    assert run(*(places.get(argument, argument) for argument in arguments)) == 1
    errors = capsys.readouterr().err
    assert problem in errors
    assert len(errors.splitlines()) == 1
