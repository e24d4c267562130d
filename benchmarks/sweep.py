"""What a sweep costs besides its runs: 10,000 tiny ones, in a plain loop and on a Dask cluster on loopback.

    python benchmarks/sweep.py --runs 10000 --workers 2

Compared is CPU time, of all processes together: on a busy machine, and with fewer cores than processes, the wall clock
says little. The cluster's CPU is counted from when its workers are there until the last result is in the journal.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from distributed import Client

from kubesched.apps.sweep.engines.dask import DaskCluster
from kubesched.apps.sweep.plan import Plan, plan_of
from kubesched.apps.sweep.spec import Experiment, load_experiment
from kubesched.apps.sweep.store import Store
from kubesched.apps.sweep.sweep import run_plan
from kubesched.apps.sweep.worker import Batch, do_batch

SPEC = """
length: 10m
nodes:
- {name: n, count: 5, capacity: {cpu: 4, memory: 8Gi}}
workloads:
- name: web
  arrivals: {perMinute: PODS}
  sizes: [{requests: {cpu: 500m, memory: 1Gi}}]
  lifetime: 5m
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pods-per-minute", type=float, default=1.0, help="10 minutes are replayed")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # takes the cluster along
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.yaml").write_text(SPEC.replace("PODS", str(options.pods_per_minute)))
        (folder / "experiment.yaml").write_text(f"traces: [{{generate: spec.yaml}}]\nseeds: {options.runs}\n")
        plan = plan_of(load_experiment(folder / "experiment.yaml", Experiment, "experiment"), folder)
        alone, hashes = in_a_loop(plan)
        print(f"in a loop:  {alone:8.1f} s CPU, {alone / options.runs * 1000:.2f} ms per run", flush=True)
        spent, wall, found = on_a_cluster(plan, folder, options.workers)
        driver, scheduler, *workers = spent
        there = sum(spent)
        parts = f"driver {driver:.1f}, scheduler {scheduler:.1f}, workers {sum(workers):.1f}"
        print(f"on Dask:    {there:8.1f} s CPU ({parts}) in {wall:.1f} s with {options.workers} workers")
        same = "equal" if found == hashes else "NOT EQUAL"
        print(f"overhead:   {100 * (there / alone - 1):8.1f} % of CPU; results are {same}")


def in_a_loop(plan: Plan) -> tuple[float, list[str]]:
    trace, modules = next(iter(plan.traces.values())), plan.modules[""]
    do_batch(Batch(plan.runs[:50], modules), trace)  # imports, the trace, warm caches
    begun = time.process_time()
    outcomes = do_batch(Batch(plan.runs, modules), trace)
    return time.process_time() - begun, [outcome.hash for outcome in outcomes]


def on_a_cluster(plan: Plan, folder: Path, workers: int) -> tuple[list[float], float, list[str]]:
    python = [sys.executable, "-m"]
    settings = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false"}  # as in deploy/dask
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": os.environ | settings}
    name, scheduler_file = str(folder), folder / "scheduler.json"
    scheduler = subprocess.Popen(
        [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
         "--scheduler-file", str(scheduler_file)], **quiet,
    )  # fmt: skip
    options = ["--scheduler-file", str(scheduler_file), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    processes = [scheduler]
    try:
        while not scheduler_file.exists():
            time.sleep(0.1)  # noqa: TID251 - a real cluster takes real time
        processes += [
            subprocess.Popen(
                [*python, "distributed.cli.dask_worker", *options, "--host", "127.0.0.1", "--local-directory", name],
                **quiet,
            )
            for _ in range(workers)
        ]
        with Client(scheduler_file=str(scheduler_file), set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            client.run(lambda: __import__("kubesched.apps.sweep.worker"))
            address = client.scheduler.address
        with Store(folder / "r") as store, DaskCluster(address) as engine:
            begun, before = time.perf_counter(), cpu_seconds(processes)
            run_plan(plan, store, engine)
            spent = [after - earlier for after, earlier in zip(cpu_seconds(processes), before, strict=True)]
            wall = time.perf_counter() - begun
            return spent, wall, [store.outcomes[run.key].hash for run in plan.runs]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def cpu_seconds(processes: list[subprocess.Popen[bytes]]) -> list[float]:
    """Of this one, and of each of them."""
    times = [psutil.Process(pid).cpu_times() for pid in (os.getpid(), *(process.pid for process in processes))]
    return [found.user + found.system for found in times]


if __name__ == "__main__":
    main()
