"""A sweep on a real Dask cluster of processes on loopback: losses are survived, and results equal local ones."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.unit.apps.sweep.experiments import EXPERIMENT, write_experiment, write_plugin

from kubesched.apps.sweep.engines.dask import DaskCluster
from kubesched.apps.sweep.engines.engine import EngineLostError
from kubesched.apps.sweep.experiment import sweep
from kubesched.apps.sweep.store import JOURNAL, RESULTS
from kubesched.apps.sweep.sweep import Progress
from kubesched.errors import ConfigurationError

ADDRESS = re.compile(r"tcp://127\.0\.0\.1:\d+")


class Cluster:
    """A scheduler, and workers that can be started and killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.address = self._address(self.scheduler)
        self.workers: list[subprocess.Popen[str]] = []

    def add_worker(self) -> subprocess.Popen[str]:
        options = ("--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--no-nanny", "--memory-limit", "0")
        worker = self._start("worker", self.address, *options, "--local-directory", str(self._folder))
        self.workers.append(worker)
        return worker

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            if process.poll() is None:
                process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + kind, *arguments]
        environment = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
        return subprocess.Popen(
            command, cwd=self._folder, env=environment, text=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )

    def _address(self, process: subprocess.Popen[str]) -> str:
        assert process.stderr is not None
        for line in process.stderr:
            found = ADDRESS.search(line)
            if found and "Scheduler at" in line:
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return found[0]
        raise AssertionError("the scheduler did not start")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    started = Cluster(folder)
    yield started
    started.stop()


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / RESULTS).to_pylist()
    return found


def results(folder: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """All of a row but where and how fast it was done."""
    return {
        (row["variant"], row["seed"]): {k: v for k, v in row.items() if k not in ("seconds", "worker")}
        for row in rows(folder)
    }


def test_results_equal_local_ones_though_workers_die_and_join(cluster: Cluster, tmp_path: Path) -> None:
    """With a plugin that only the driver has; the first worker is killed, a second one joins in the middle."""
    write_plugin(tmp_path / "plugins")
    text = EXPERIMENT.replace("- default\n", "- default\n- plugins/favourite.yaml\n").replace("seeds: 2", "seeds: 6")
    path = write_experiment(tmp_path, text)
    first = cluster.add_worker()
    joined: list[int] = []

    def hear(progress: Progress) -> None:
        if progress.finished >= 3 and not joined:
            joined.append(progress.finished)
            first.send_signal(signal.SIGKILL)
            cluster.add_worker()

    sweep(path, tmp_path / "there", on=cluster.address, on_progress=hear)
    sweep(path, tmp_path / "here", jobs=0)
    assert joined
    assert results(tmp_path / "there") == results(tmp_path / "here")
    assert len({row["worker"] for row in rows(tmp_path / "there")}) == 2, "both have done some"


def test_a_lost_scheduler_is_one_line_and_the_sweep_goes_on_elsewhere(cluster: Cluster, tmp_path: Path) -> None:
    """What was finished is kept: here, on this machine."""
    path = write_experiment(tmp_path, EXPERIMENT.replace("seeds: 2", "seeds: 8"))
    cluster.add_worker()

    def hear(progress: Progress) -> None:
        if progress.finished >= 2:
            cluster.scheduler.kill()

    with pytest.raises(EngineLostError) as caught:
        sweep(path, tmp_path / "r", on=cluster.address, on_progress=hear)
    done = len((tmp_path / "r" / JOURNAL).read_text().splitlines())
    expected = f"lost the Dask scheduler at {cluster.address}; {done} of 16 runs are done, the same command goes on"
    assert str(caught.value) == expected
    assert 2 <= done < 16
    heard: list[Progress] = []
    sweep(path, tmp_path / "r", jobs=0, on_progress=heard.append)
    assert heard[0].before == done
    assert len(rows(tmp_path / "r")) == 16


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One line, soon."""
    monkeypatch.setattr("kubesched.apps.sweep.engines.dask.CONNECT_SECONDS", 0.5)
    with pytest.raises(ConfigurationError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        sweep(write_experiment(tmp_path), tmp_path / "r", on="tcp://127.0.0.1:1")
    with pytest.raises(ConfigurationError, match="no Dask scheduler answers at nonsense://x"):
        DaskCluster("nonsense://x").__enter__()
