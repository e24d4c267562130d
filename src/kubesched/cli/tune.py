"""`kubesched tune`: search weights and arguments of plugins that serve an objective better."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kubesched.apps.sweep.tuning import tune
from kubesched.cli.options import Output, OutputFormat
from kubesched.cli.sweep import Jobs, On, progress_of_runs, stopped_by_ctrl_c
from kubesched.reports.tuning import tuning_text

app = typer.Typer(add_completion=False, help="Search a better configuration.")


@app.command("tune")
def tune_command(
    tuning: Annotated[Path, typer.Argument(metavar="TUNING", help="YAML, or Python with a `tuning`.", exists=True)],
    results: Annotated[
        Path | None, typer.Option("--results", metavar="FOLDER", help="Where results go; TUNING.results by default.")
    ] = None,
    jobs: Jobs = None,
    on: On = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """Search weights and arguments on the first part of a trace, and judge what was found on the rest.

    The configurations are written into the results folder, in the form that kube-scheduler takes. Stopped at any
    moment, the same command goes on where it was.
    """
    folder = results or tuning.with_suffix(".results")
    with stopped_by_ctrl_c(folder), progress_of_runs() as hear:
        report = tune(tuning, folder, jobs=jobs, on=on, on_progress=hear)
    if output is Output.JSON:
        typer.echo(json.dumps(report.as_data()))
    else:
        Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200).print(tuning_text(report))
