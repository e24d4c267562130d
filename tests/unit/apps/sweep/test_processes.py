"""Local processes that die: the run that kills its process is found, and no process outlives a killed sweep."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.unit.apps.sweep.experiments import EXPERIMENT, WITH_PLUGIN, write_experiment

from kubesched.apps.sweep.experiment import sweep

DEADLY = """
import os, signal
from kubesched.framework import ScorePlugin

class Favourite(ScorePlugin):
    name = "Favourite"

    def score(self, state, pod, node):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_run_that_kills_its_process_fails_alone(tmp_path: Path) -> None:
    """The others are done, in processes that take the place of the dead ones."""
    (tmp_path / "favourite.py").write_text(DEADLY)
    (tmp_path / "deadly.yaml").write_text(WITH_PLUGIN)
    text = EXPERIMENT.replace("- default\n", "- default\n- deadly.yaml\n").replace("seeds: 2", "seeds: 1")
    report = sweep(write_experiment(tmp_path, text), tmp_path / "r", jobs=2)
    errors = {result.policy: result.error for result in report.results}
    assert errors == {
        "default": "",
        "deadly": "the process that did it died (out of memory, or killed)",
        "packing": "",
    }


SWEEP = """
import sys
from kubesched.apps.sweep.experiment import sweep
if __name__ == "__main__":
    sweep(sys.argv[1], sys.argv[2], jobs=2)
"""


@pytest.mark.slow
def test_processes_end_with_a_sweep_that_is_killed(tmp_path: Path) -> None:
    """They hold the pipe of its output: it ends when they do."""
    program = tmp_path / "program.py"
    program.write_text(SWEEP)
    path = write_experiment(tmp_path, EXPERIMENT.replace("seeds: 2", "seeds: 500"))
    command = [sys.executable, str(program), str(path), str(tmp_path / "r")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as started:
        journal = tmp_path / "r" / "journal.jsonl"
        while not (journal.exists() and journal.stat().st_size) and started.poll() is None:
            threading.Event().wait(0.05)
        started.send_signal(signal.SIGKILL)
        started.communicate(timeout=30)
    assert started.returncode == -signal.SIGKILL
