"""Processes around a benchmark."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from kubesched.apps.bench.processes import Process, other_scheduler, our_scheduler
from kubesched.errors import KubeschedError


def test_our_scheduler_runs_without_limits_and_elections() -> None:
    """So that the benchmark measures the scheduler and not its rate limit."""
    command = our_scheduler(Path("/etc/kube.yaml"), {"A": True, "B": False}, None)
    assert command[1:5] == ["-P", "-m", "kubesched", "run"]
    assert {"--leader-elect=false", "--kube-api-qps=5000", "--kubeconfig=/etc/kube.yaml"} <= set(command)
    assert "--feature-gates=A=true,B=false" in command


def test_another_scheduler_gets_the_kubeconfig_in_its_place() -> None:
    """Also within a word, and with quotes as a shell reads them."""
    command = other_scheduler("kube-scheduler --kubeconfig={kubeconfig} --name 'a b'", Path("/k"))
    assert command == ["kube-scheduler", "--kubeconfig=/k", "--name", "a b"]


async def test_a_process_that_ends_tells_its_last_line() -> None:
    """The benchmark cannot go on without its scheduler."""
    process = Process([sys.executable, "-c", "import sys; sys.exit('no such flag')"])
    await process.start()
    await process.ended()
    with pytest.raises(KubeschedError, match="ended with code 1: no such flag"):
        process.raise_if_dead()
    await process.stop()


async def test_a_program_that_is_not_there_is_told() -> None:
    """With its name."""
    with pytest.raises(KubeschedError, match="cannot start /no/such/program"):
        await Process(["/no/such/program"]).start()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="figures of other processes come from /proc")
async def test_cpu_and_memory_outlive_the_process() -> None:
    """What was used counts, also after the end."""
    process = Process([sys.executable, "-c", "while True: pass"])
    await process.start()
    async with asyncio.timeout(60):
        while not process.cpu_seconds():  # noqa: ASYNC110 - /proc tells no events
            await asyncio.sleep(0.01)
    await process.stop()
    assert process.cpu_seconds() > 0
    assert process.peak_rss_mib() > 1
