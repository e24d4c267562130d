"""A process for each workload: memory, garbage and a crash of one run are not the next one's."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shlex
import signal
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from kubesched.apps.bench.api_target import ApiTarget, GivenServer
from kubesched.apps.bench.core_target import CoreTarget, changeable
from kubesched.apps.bench.processes import EmbeddedServer, other_scheduler, our_scheduler
from kubesched.apps.bench.results import Result
from kubesched.apps.bench.runner import Progress, run_workload
from kubesched.apps.bench.stages import StageSampler
from kubesched.apps.bench.target import Target
from kubesched.apps.bench.workload import Workload
from kubesched.apps.run.lifecycle import loop_factory
from kubesched.clock import Clock, SystemClock
from kubesched.errors import KubeschedError

CORE: Final = "core"
EMBEDDED: Final = "embedded"
CLUSTER: Final = "cluster"
TIDIES_UP_WITHIN: Final = 15.0  # seconds: for the servers and schedulers that it started


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How workloads are run."""

    mode: str = CORE
    time_limit: float = 300.0
    stages: bool = False
    kubeconfig: Path | None = None
    """Of the cluster, in the mode of that name."""
    scheduler: str = ""
    """The command line of another scheduler, with {kubeconfig} in it; ours if empty."""
    holds: bool = False
    """Measured pods are there before the scheduler starts."""

    @property
    def scheduler_name(self) -> str:
        """The program's name, or its script's where it is Python that runs one."""
        if not self.scheduler:
            return "kubesched"
        program, *arguments = shlex.split(self.scheduler)
        is_script = Path(program).name.startswith("python") and arguments
        return Path(arguments[0]).stem if is_script else Path(program).name


def run_apart(workload: Workload, options: RunOptions, progress: Progress) -> Result:
    """Run a workload in a process of its own, which ends with this call. Never raises because of the workload."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(workload, options, theirs))
    process.start()
    theirs.close()
    try:
        while not isinstance(message := ours.recv(), Result):
            progress(*message)
        return message
    except EOFError:
        process.join()
        return Result(workload=workload.full_name, mode=options.mode, problem=f"crashed (exit code {process.exitcode})")
    except BaseException:
        ours.close()  # or it might wait for a reader
        process.terminate()
        process.join(TIDIES_UP_WITHIN)
        process.kill()
        raise
    finally:
        process.join()


def _work(workload: Workload, options: RunOptions, connection: Connection) -> None:
    def progress(done: int, what: str) -> None:
        connection.send((done, what))

    async def run() -> Result:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await run_here(workload, options, progress)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all: who started us ends us, in order
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:  # as `kubesched run` does
            result = runner.run(run())
        connection.send(replace(result, scheduler=options.scheduler_name))
    except (asyncio.CancelledError, BrokenPipeError):  # nobody wants the result any more
        os._exit(1)
    connection.close()
    os._exit(0)  # the HTTP library's threads may still run, which the interpreter's own way out does not survive


async def run_here(workload: Workload, options: RunOptions, progress: Progress) -> Result:
    """Run a workload in this process's main thread."""
    clock = SystemClock()
    try:
        target = _target(workload, options, clock)
    except KubeschedError as error:
        return Result(workload=workload.full_name, mode=options.mode, problem=str(error))
    return await run_workload(
        workload,
        target,
        clock,
        mode=options.mode,
        time_limit=options.time_limit,
        progress=progress,
        sampler=StageSampler() if options.stages else None,
        holds=options.holds,
    )


def _target(workload: Workload, options: RunOptions, clock: Clock) -> Target:
    gates = changeable(workload.feature_gates)
    if options.mode == CORE:
        return CoreTarget(gates, clock, config=workload.scheduler_config)
    server = EmbeddedServer() if options.mode == EMBEDDED else GivenServer(options.kubeconfig or Path())

    def command(kubeconfig: Path) -> list[str]:
        if options.scheduler:
            return other_scheduler(options.scheduler, kubeconfig)
        return our_scheduler(kubeconfig, gates, workload.scheduler_config)

    return ApiTarget(server, command, clock)
