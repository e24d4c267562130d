"""`kubesched sweep` and `kubesched tune` on the command line: what they print, write and answer with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.unit.apps.sweep.experiments import EXPERIMENT, write_experiment

from kubesched.cli.main import main

TUNING = """
trace: {generate: spec.yaml}
search: {args: {NodeResourcesFit: {scoringStrategy.type: [LeastAllocated, MostAllocated]}}}
objectives: [{minimise: nodes_in_use_mean}]
trials: 2
seeds: 1
heldOutSeeds: 2
"""


def kubesched(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_a_sweep_and_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON, a page and plots, each of the same results."""
    path, results = write_experiment(tmp_path), tmp_path / "r"
    assert kubesched("sweep", path, "--dry-run", "--results", results) == 0
    assert capsys.readouterr().out == "4 runs on 2 traces\n"
    assert kubesched("sweep", path, "--jobs", 0, "--results", results) == 0
    assert "against default, pair by pair" in capsys.readouterr().out
    page, plots = tmp_path / "page.html", tmp_path / "plots"
    more = ("--metric", "nodes_in_use_mean", "--report", page, "--plots", plots, "-o", "json")
    assert kubesched("sweep", "report", results, *more) == 0
    data = json.loads(capsys.readouterr().out)
    assert {line["policy"] for line in data["lines"]} == {"default", "packing"}
    assert "<svg" in page.read_text()
    assert "http://" not in page.read_text().replace("http://www.w3.org/2000/svg", "")
    assert [ElementTree.parse(file).getroot().tag[-3:] for file in plots.iterdir()] == ["svg"]


def test_failed_runs_are_shown_and_the_exit_code_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are there."""
    text = EXPERIMENT.replace("type: MostAllocated", "type: [MostAllocated, Most]")
    assert kubesched("sweep", write_experiment(tmp_path, text), "-j", 0, "--results", tmp_path / "r") == 1
    shown = capsys.readouterr().out
    assert "2 runs failed" in shown
    assert "MostAllocated" in shown


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    """With the exit code of an interrupted command; local processes end with it."""
    path = write_experiment(tmp_path, EXPERIMENT.replace("seeds: 2", "seeds: 400"))
    command = [sys.executable, "-m", "kubesched", "sweep", str(path), "--results", str(tmp_path / "r"), "-j", "1"]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    journal = tmp_path / "r" / "journal.jsonl"
    while not (journal.exists() and journal.stat().st_size) and started.poll() is None:
        threading.Event().wait(0.05)
    os.killpg(started.pid, signal.SIGINT)
    _, errors = started.communicate(timeout=30)
    assert started.returncode == 130
    assert errors.splitlines()[-1].endswith("the same command goes on")
    assert "Traceback" not in errors


def test_tune(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict, the file, and what the confidence is about."""
    path = write_experiment(tmp_path, TUNING)
    assert kubesched("tune", path, "--jobs", 0, "--results", tmp_path / "r") == 0
    shown = capsys.readouterr().out
    assert "tuned.yaml: NodeResourcesFit.scoringStrategy.type=MostAllocated" in shown
    assert "better, but that may be chance (p = 0.500)" in shown
    assert "Seeds differ in ties only" in shown
    assert kubesched("tune", path, "--jobs", 0, "--results", tmp_path / "r", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["candidates"][0]["improvements"][0]["confirmed"] is False


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(("sweep", "gone.yaml"), "'gone.yaml' does not exist", id="no experiment"),
        pytest.param(("sweep", "report", "gone"), "there are no results", id="no results"),
        pytest.param(("sweep", "experiment.yaml", "--jobs", "-1"), "the number of jobs must be 0 or more", id="jobs"),
        pytest.param(("trace", "generate", "experiment.yaml", "-o", "t.jsonl"), "unknown key", id="no specification"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    problem: str,
) -> None:
    """And the exit code is 1."""
    write_experiment(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert kubesched(*arguments) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert problem in errors[0]
