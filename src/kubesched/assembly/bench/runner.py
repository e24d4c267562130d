"""One workload from its first operation to its figures."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable

from kubesched.assembly.bench.collecting import Collector
from kubesched.assembly.bench.operations import OPERATIONS, Run
from kubesched.assembly.bench.results import Result, peak_rss_mib
from kubesched.assembly.bench.target import Target
from kubesched.assembly.bench.workload import Workload
from kubesched.clock import Clock
from kubesched.errors import KubeschedError

Progress = Callable[[int, int, str], None]
"""(operations done, operations in all, the one that comes next)."""


async def run_workload(
    workload: Workload, target: Target, clock: Clock, *, mode: str, time_limit: float, progress: Progress
) -> Result:
    """Never raises because of the workload: a result with a `problem` says what went wrong."""
    collector = Collector(clock, target.bound_at)
    run = Run(target, clock, collector, workload.default_pod_template)
    wall, cpu = clock.monotonic(), time.process_time()
    problem = ""
    gc.collect()
    gc.freeze()
    await target.start()
    try:
        async with asyncio.timeout(time_limit):
            await _operations(workload, run, progress)
    except TimeoutError:
        problem = f"not finished after {time_limit:.0f} s"
    except KubeschedError as error:
        problem = str(error)
    finally:
        for task in run.background:
            task.cancel()
        await asyncio.gather(*run.background, return_exceptions=True)
        await target.stop()
        gc.unfreeze()
    return Result(
        workload.full_name,
        mode,
        collector.collected,
        clock.monotonic() - wall,
        time.process_time() - cpu,
        peak_rss_mib(),
        problem,
    )


async def _operations(workload: Workload, run: Run, progress: Progress) -> None:
    for position, operation in enumerate(workload.operations):
        run.position = position
        progress(position, len(workload.operations), operation.opcode)
        perform = OPERATIONS.get(operation.opcode)
        if perform is None:
            raise KubeschedError(f"opcode {operation.opcode} is not supported")
        await perform(run, operation)
    progress(len(workload.operations), len(workload.operations), "")
