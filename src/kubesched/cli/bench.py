"""`kubesched bench`: how fast is it? Workloads in the format of Kubernetes' scheduler_perf."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from kubesched.apps.bench import worker
from kubesched.apps.bench.comparison import Typical, compared
from kubesched.apps.bench.plot import growth_plots, read_results
from kubesched.apps.bench.processes import KUBECONFIG
from kubesched.apps.bench.results import Result, data_items
from kubesched.apps.bench.worker import RunOptions, run_apart
from kubesched.apps.bench.workload import Workload, load_workloads
from kubesched.errors import ConfigurationError

app = typer.Typer(add_completion=False, help="Measure scheduling throughput.")

WIDTH: Final = 180
"""Of tables: a narrower terminal breaks their lines, which is better than figures that are cut off."""


class Mode(StrEnum):
    CORE = worker.CORE
    EMBEDDED = worker.EMBEDDED
    CLUSTER = worker.CLUSTER


@app.callback(invoke_without_command=True)
def bench(
    context: typer.Context,
    config: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="performance-config.yaml files, or folders with such files."),
    ] = None,
    workload: Annotated[str, typer.Option(metavar="REGEX", help="Only workloads whose CASE/NAME matches.")] = "",
    label: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Only workloads with all these labels.")
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            help="core: the scheduler without an API server; embedded: over HTTP, with the embedded API server; "
            "cluster: against the cluster of --kubeconfig, which must have no other scheduler of that name."
        ),
    ] = Mode.CORE,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The cluster to use with --mode cluster.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help="Run every workload with another scheduler, too: its command line, with {kubeconfig}.",
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(metavar="N", min=1, help="How often every workload runs; schedulers take turns.")
    ] = 1,
    hold: Annotated[
        bool, typer.Option("--hold", help="Start the scheduler when the measured pods are all there, not before.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write scheduler_perf's dataItems here.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=1.0, help="Seconds until a workload counts as failed.")
    ] = 300.0,
    stages: Annotated[bool, typer.Option("--stages", help="Also show where the CPU time of a pod goes.")] = False,
) -> None:
    """Run workloads one after the other and print their throughput."""
    if context.invoked_subcommand is not None:
        return
    if not config:
        raise ConfigurationError(["--config is missing: a performance-config.yaml, or a folder with such files"])
    workloads = load_workloads(config, pattern=workload, labels=label or ())
    if not workloads:
        raise ConfigurationError(["no workload matches: see --config, --workload and --label"])
    options = RunOptions(mode=mode, time_limit=time_limit, stages=stages, kubeconfig=kubeconfig, holds=hold)
    others = against or []
    _check(options, others)
    if json_file is not None:
        json_file.open("a").close()  # whoever waited for the results is not to learn in the end that there are none
    results = _run_all(workloads * rounds, [options, *(replace(options, scheduler=command) for command in others)])
    console = Console(highlight=False, width=WIDTH)
    console.print(_table(results))
    if others:
        console.print(_comparison_table(compared(results)))
    for result in results:
        if result.stages:
            console.print(_stage_table(result))
        if result.problem:
            console.print(f"[red]{result.workload}: {result.problem}[/red]")
    if json_file is not None:
        json_file.write_text(json.dumps(data_items(results), indent=2))
    if any(result.problem for result in results):
        raise typer.Exit(1)


@app.command()
def plot(
    results: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files that `bench --json` wrote.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the plots.")] = Path(),
) -> None:
    """Draw how the cost of a pod grows with nodes, pods and kinds of pods, as SVG."""
    plots = growth_plots([read_results(file) for file in results])
    out.mkdir(parents=True, exist_ok=True)
    for name, text in plots.items():
        (out / name).write_text(text)
        typer.echo(out / name)


def _check(options: RunOptions, against: list[str]) -> None:
    """Options that make no sense together."""
    problems = []
    if options.mode == Mode.CLUSTER and options.kubeconfig is None:
        problems.append("--mode cluster needs --kubeconfig")
    if options.mode == Mode.CORE and against:
        problems.append("--against needs an API server: --mode embedded or cluster")
    if options.mode != Mode.CORE and options.stages:
        problems.append("--stages needs the scheduler in this process: --mode core")
    if options.kubeconfig is not None and not options.kubeconfig.is_file():
        problems.append(f"--kubeconfig: there is no file {options.kubeconfig}")
    if any(KUBECONFIG not in command for command in against):
        problems.append(f"--against: the command line must contain {KUBECONFIG}")
    if problems:
        raise ConfigurationError(problems)


def _run_all(workloads: list[Workload], choices: list[RunOptions]) -> list[Result]:
    """Each workload with our scheduler and, right after it, with the others."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    runs = [(workload, chosen) for workload in workloads for chosen in choices]
    results: list[Result] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        overall = progress.add_task("workloads", total=len(runs))
        for workload, chosen in runs:
            task = progress.add_task(workload.full_name, total=len(workload.operations))

            def show(done: int, what: str, task: object = task, name: str = workload.full_name) -> None:
                progress.update(task, completed=done, description=f"{name} {what}")  # type: ignore[arg-type]  # a TaskID

            result = run_apart(workload, chosen, show)
            results.append(result)
            progress.remove_task(task)
            progress.console.print(
                f"{workload.full_name} ({result.scheduler}): {_in_short(result)}", highlight=False, soft_wrap=True
            )
            progress.advance(overall)
    return results


def _in_short(result: Result) -> str:
    rates = ", ".join(
        f"{stretch.throughput:,.0f} pods/s, {stretch.cpu_seconds:.1f} CPU s"
        for stretch in result.collected
        if stretch.pods
    )
    return result.problem or rates or f"{result.wall_seconds:.1f} s"


def _table(results: list[Result]) -> Table:
    table = Table(box=None)
    table.add_column("workload", no_wrap=True)
    table.add_column("scheduler", no_wrap=True)
    for name in ("pods", "pods/s", "p50", "p90", "p99", "CPU s", "µs/pod", "peak MiB"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        for stretch in result.collected:
            shares = stretch.percentiles()
            table.add_row(
                result.workload,
                result.scheduler,
                f"{stretch.pods:,}",
                f"{stretch.throughput:,.0f}",
                *(f"{shares.get(f'Perc{share}', 0):,.0f}" for share in (50, 90, 99)),
                f"{stretch.cpu_seconds:.2f}",
                f"{stretch.cpu_per_pod * 1e6:,.0f}",
                f"{result.peak_rss_mib:,.0f}",
                style="red" if result.problem else None,
            )
        if not result.collected:
            table.add_row(result.workload, style="red" if result.problem else None)
    return table


def _comparison_table(workloads: list[list[Typical]]) -> Table:
    """Medians over all rounds; behind each other scheduler, how many times its figures ours are."""
    table = Table(title="medians, and the first scheduler's over the others'", box=None, title_justify="left")
    table.add_column("workload", no_wrap=True)
    table.add_column("scheduler", no_wrap=True)
    for name in ("pods/s", "CPU s", "peak MiB", "pods/s ×", "CPU ×", "memory ×"):
        table.add_column(name, justify="right")
    for ours, *others in workloads:
        for one in (ours, *others):
            ratios = ours.over(one) if one is not ours else (None, None, None)
            table.add_row(
                one.workload,
                one.scheduler,
                f"{one.throughput:,.0f}",
                f"{one.cpu_seconds:.2f}",
                f"{one.peak_rss_mib:,.0f}",
                *(f"{ratio:.2f}" if ratio is not None else "" for ratio in ratios),
            )
    return table


def _stage_table(result: Result) -> Table:
    """Shares of the CPU time, and what that is per pod."""
    table = Table(title=result.workload, box=None, title_justify="left")
    table.add_column("stage")
    table.add_column("share", justify="right")
    table.add_column("µs/pod", justify="right")
    per_pod = sum(s.cpu_seconds for s in result.collected) / max(1, sum(s.pods for s in result.collected))
    for stage, share in result.stages.items():
        table.add_row(stage, f"{share:.1%}", f"{share * per_pod * 1e6:,.1f}")
    return table
