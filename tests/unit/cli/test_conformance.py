"""`kubesched conformance` on recordings of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesched.cli.main import main


def case(name: str, **expected: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "default", "uid": "1"}
    spec = {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}]}
    return {"name": name, "objects": [], "pod": {"metadata": metadata, "spec": spec}, "expected": expected}


def run(recording: object, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    """The exit code, the lines of the output, and the errors."""
    (folder / "mine.json").write_text(json.dumps(recording))
    with pytest.raises(SystemExit) as ended:
        main(["conformance", str(folder)])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out.splitlines(), said.err


def test_all_cases_match(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last line says so."""
    recording = {"area": "mine", "cases": [case("none", error="no nodes available to schedule pods")]}
    code, lines, _ = run(recording, tmp_path, capsys)
    assert (code, lines[-1]) == (0, "1 of 1 cases match")


def test_differences_are_shown_and_end_with_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those of a case that makes no sense: the others are decided all the same."""
    strange = {**case("strange", error=""), "objects": [{"kind": "Node"}], "config": {"kind": "Nonsense"}}
    recording = {"area": "mine", "cases": [strange, case("some", bestNodes=["a"])]}
    code, lines, _ = run(recording, tmp_path, capsys)
    assert (code, lines[-1]) == (1, "0 of 2 cases match")
    assert "bestNodes" in "\n".join(lines)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param([], id="no object"),
        pytest.param({"cases": []}, id="no area"),
        pytest.param({"area": "a", "cases": [{"name": "x"}]}, id="a case without objects"),
        pytest.param({"area": "a", "cases": [{**case("x"), "pods": []}]}, id="a pod and a sequence"),
    ],
)
def test_what_is_no_recording_is_one_clear_line(
    recording: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the file and the place in it."""
    code, _, errors = run(recording, tmp_path, capsys)
    assert code == 1
    assert [f"{tmp_path / 'mine.json'}: not a recording: " in line for line in errors.splitlines()] == [True]
