"""Workloads in processes of their own."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from kubesched.apps.bench.worker import RunOptions, run_apart
from kubesched.apps.bench.workload import load_workloads

ENDLESS = """
- name: Endless
  workloadTemplate: [{opcode: sleep, duration: 1h}]
  workloads: [{name: one}]
"""


def test_an_interrupt_ends_the_process_too(tmp_path: Path) -> None:
    """Even if it was not sent to the whole terminal: nobody is waited for, and nobody is left."""
    file = tmp_path / "performance-config.yaml"
    file.write_text(ENDLESS)
    (workload,) = load_workloads([file])

    def interrupt(done: int, what: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_apart(workload, RunOptions(), interrupt)
    assert multiprocessing.active_children() == []
