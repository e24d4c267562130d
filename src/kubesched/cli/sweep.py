"""`kubesched sweep`: many replays, and what they show."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from kubesched.apps.sweep.experiment import sweep
from kubesched.apps.sweep.plan import plan_of
from kubesched.apps.sweep.results import load_report
from kubesched.apps.sweep.spec import Experiment, load_experiment
from kubesched.apps.sweep.sweep import Hear, Progress
from kubesched.cli.options import Output, OutputFormat
from kubesched.cli.progress import progress_bar
from kubesched.clock import SystemClock
from kubesched.reports.sweep import SweepReport
from kubesched.reports.sweep_html import plots, sweep_page
from kubesched.reports.sweep_text import sweep_text
from kubesched.reports.text import number

_LINE_EVERY_SECONDS = 10.0
INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


class _RunByDefault(TyperGroup):
    """`kubesched sweep FILE` is `kubesched sweep run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_RunByDefault, add_completion=False, help="Run experiments: kubesched sweep EXPERIMENT.yaml")

Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Local processes; as many as cores by default.")
]
On = Annotated[str, typer.Option("--on", metavar="tcp://HOST:PORT", help="The scheduler of a Dask cluster.")]


@app.command("run")
def run_experiment(
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT", help="YAML, or Python with an `experiment`.", exists=True)
    ],
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FOLDER", help="Where results go; EXPERIMENT.results by default."),
    ] = None,
    jobs: Jobs = None,
    on: On = "",
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Do runs that failed again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many runs there are.")] = False,
) -> None:
    """Run every policy of an experiment on every trace, with every number of nodes and every seed.

    Stopped at any moment, the same command goes on where it was.
    """
    folder = results or experiment.with_suffix(".results")
    if dry_run:
        plan = plan_of(load_experiment(experiment, Experiment, "experiment"), folder)
        typer.echo(f"{len(plan.runs):,} runs on {len(plan.traces):,} traces")
        return
    with stopped_by_ctrl_c(folder), progress_of_runs() as hear:
        report = sweep(experiment, folder, jobs=jobs, on=on, retry_failed=retry_failed, on_progress=hear)
    _print(report)
    typer.echo(f"{folder}: {len(report.results):,} runs; kubesched sweep report {folder} shows more", err=True)
    if report.errors:
        raise typer.Exit(1)


@app.command("report")
def report_results(
    results: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder with results, or a Parquet file.")],
    against: Annotated[
        str, typer.Option("--against", metavar="POLICY", help="Compare with this one, not with the first.")
    ] = "",
    metric: Annotated[
        list[str] | None, typer.Option("--metric", metavar="NAME", help="Show this metric (repeatable).")
    ] = None,
    page: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page.")] = None,
    plot_folder: Annotated[
        Path | None, typer.Option("--plots", metavar="FOLDER", help="Write the plots as SVG files.")
    ] = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Show means with their confidence, differences to the first policy pair by pair, and plots."""
    report = load_report(results, against=against, metrics=metric or ())
    if page is not None:
        page.write_text(sweep_page(report), encoding="utf-8")
    if plot_folder is not None:
        plot_folder.mkdir(parents=True, exist_ok=True)
        for name, svg in plots(report):
            file = "".join(letter if letter.isalnum() else "-" for letter in name)
            (plot_folder / f"{file}.svg").write_text(svg, encoding="utf-8")
    if output is Output.JSON:
        typer.echo(json.dumps(report.as_data()))
    else:
        _print(report)


@contextmanager
def stopped_by_ctrl_c(folder: Path) -> Iterator[None]:
    """What is finished stays; a line says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"stopped; what is finished is in {folder}, and the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def progress_of_runs() -> Iterator[Hear]:
    """A bar with the time that is left where a person looks at it; elsewhere a line now and then."""
    clock = SystemClock()
    begun = said = clock.monotonic()

    with progress_bar() as show:

        def hear(progress: Progress) -> None:
            nonlocal said
            failed = f", {progress.failed:,} failed" if progress.failed else ""
            what = f"{progress.finished:,} of {progress.total:,} runs{failed}"
            left, done = progress.total - progress.finished, progress.finished - progress.before
            show(what, done / (left + done) if left + done else 1.0)
            now = clock.monotonic()
            if not sys.stderr.isatty() and now - said >= _LINE_EVERY_SECONDS and done:
                said = now
                typer.echo(f"{what}, {number((now - begun) / done * left, 's')} left", err=True)

        yield hear


def _print(report: SweepReport) -> None:
    Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200).print(sweep_text(report))
