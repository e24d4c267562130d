"""`kubesched bench`: how fast is it? Workloads in the format of Kubernetes' scheduler_perf."""

from __future__ import annotations

import asyncio
import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from kubesched.assembly.bench.results import Result
from kubesched.assembly.bench.runner import run_workload
from kubesched.assembly.bench.target import CoreTarget
from kubesched.assembly.bench.workload import Workload, load_workloads
from kubesched.clock import SystemClock
from kubesched.errors import ConfigurationError

app = typer.Typer(help="Measure scheduling throughput.")


class Mode(StrEnum):
    CORE = "core"


@app.callback(invoke_without_command=True)
def bench(
    config: Annotated[list[Path], typer.Option(help="performance-config.yaml files, or folders with such files.")],
    workload: Annotated[str, typer.Option(help="Only workloads whose CASE/NAME matches this expression.")] = "",
    label: Annotated[list[str] | None, typer.Option(help="Only workloads with all these labels.")] = None,
    mode: Annotated[Mode, typer.Option(help="core: the scheduler without an API server.")] = Mode.CORE,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write scheduler_perf's dataItems here.")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds after which a workload counts as failed.")] = 300.0,
) -> None:
    """Run workloads one after the other and print their throughput."""
    workloads = load_workloads(config, pattern=workload, labels=label or ())
    if not workloads:
        raise ConfigurationError(["no workload matches"])
    console = Console(highlight=False)
    results = [_run(w, mode, time_limit, position, len(workloads)) for position, w in enumerate(workloads, 1)]
    console.print(_table(results))
    if json_file is not None:
        items = [item for result in results for item in result.data_items()]
        json_file.write_text(json.dumps({"version": "v1", "dataItems": items}, indent=2))
    if any(result.problem for result in results):
        raise typer.Exit(1)


def _run(workload: Workload, mode: Mode, time_limit: float, position: int, total: int) -> Result:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"[{position}/{total}] {workload.full_name}", total=len(workload.operations))

        def show(done: int, all_of_them: int, what: str) -> None:
            progress.update(task, completed=done, description=f"[{position}/{total}] {workload.full_name} {what}")

        return asyncio.run(_measure(workload, mode, time_limit, show))


async def _measure(workload: Workload, mode: Mode, time_limit: float, show: object) -> Result:
    clock = SystemClock()
    target = CoreTarget(workload.feature_gates, clock)
    return await run_workload(
        workload,
        target,
        clock,
        mode=mode,
        time_limit=time_limit,
        progress=show,  # type: ignore[arg-type]  # a plain function
    )


def _table(results: list[Result]) -> Table:
    table = Table(box=None)
    for name in ("workload", "pods", "pods/s", "p50", "p99", "CPU s", "µs/pod", "peak MiB"):
        is_name = name == "workload"
        table.add_column(
            name, justify="left" if is_name else "right", no_wrap=True, overflow="fold" if is_name else "ellipsis"
        )
    for result in results:
        if result.problem:
            table.add_row(f"{result.workload}: {result.problem}", style="red")
        for stretch in result.collected:
            shares = stretch.percentiles()
            table.add_row(
                result.workload,
                str(stretch.pods),
                f"{stretch.throughput:,.0f}",
                f"{shares.get('Perc50', 0):,.0f}",
                f"{shares.get('Perc99', 0):,.0f}",
                f"{stretch.cpu_seconds:.2f}",
                f"{stretch.cpu_seconds / max(1, stretch.pods) * 1e6:,.0f}",
                f"{result.peak_rss_mib:,.0f}",
            )
    return table
