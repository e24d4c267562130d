"""One workload from its first operation to its figures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from kubesched.apps.bench.collecting import Collector
from kubesched.apps.bench.opcodes import opcode
from kubesched.apps.bench.operations import perform
from kubesched.apps.bench.results import Result
from kubesched.apps.bench.run_state import Run
from kubesched.apps.bench.stages import StageSampler
from kubesched.apps.bench.target import Target
from kubesched.apps.bench.workload import Workload
from kubesched.clock import Clock
from kubesched.errors import KubeschedError

Progress = Callable[[int, str], None]
"""(operations done, the one that comes next)."""


async def run_workload(
    workload: Workload,
    target: Target,
    clock: Clock,
    *,
    mode: str,
    time_limit: float,
    progress: Progress,
    sampler: StageSampler | None = None,
    holds: bool = False,
) -> Result:
    """Never raises because of the workload: a result with a `problem` says what went wrong."""
    collector = Collector(clock, target, sampler)
    run = Run(workload, target, clock, collector, Random(0), holds)  # noqa: S311 - chance that can be repeated
    started, problem = clock.monotonic(), ""
    try:
        async with asyncio.timeout(time_limit):
            await target.start()
            await _operations(run, progress)
    except TimeoutError:
        missing = target.pods.waiting_for()
        problem = f"not finished after {time_limit:.0f} s{f': {missing}' if missing else ''}"
        collector.stop_early()
    except KubeschedError as error:
        problem = str(error)
    finally:
        for task in run.background:
            task.cancel()
        await asyncio.gather(*run.background, return_exceptions=True)
        await target.stop()
    slowest = min((stretch.throughput for stretch in collector.collected), default=0.0)
    if not problem and slowest < workload.threshold:
        problem = f"{slowest:,.0f} pods/s are fewer than the {workload.threshold:,.0f} that its file demands"
    return Result(
        workload=workload.full_name,
        mode=mode,
        collected=collector.collected,
        wall_seconds=clock.monotonic() - started,
        peak_rss_mib=target.peak_rss_mib(),
        problem=problem,
        stages=sampler.shares() if sampler else {},
    )


async def _operations(run: Run, progress: Progress) -> None:
    for position, operation in enumerate(run.workload.operations):
        run.position = position
        progress(position, opcode(operation))
        await perform(operation, run)
        run.raise_from_background()
    progress(len(run.workload.operations), "")
