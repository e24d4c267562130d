"""`kubesched doctor`: is everything there that kubesched needs, here and in the cluster?"""

from __future__ import annotations

import asyncio

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kubesched.apps.doctor.cluster import look_at_cluster
from kubesched.apps.doctor.finding import Finding, State
from kubesched.apps.doctor.installation import look_at_installation
from kubesched.cli.options import ConfigFile, KubeconfigFile, Output, OutputFormat
from kubesched.clock import SystemClock
from kubesched.config import default_config, load_config_file
from kubesched.redaction import redacted

app = typer.Typer(add_completion=False, help="Find out what is missing.")

_MARKS = {State.GOOD: ("✓", "green"), State.WARNING: ("!", "yellow"), State.PROBLEM: ("✗", "red")}


@app.command()
def doctor(kubeconfig: KubeconfigFile = "", config: ConfigFile = None, output: OutputFormat = Output.TEXT) -> None:
    """Look at this installation and at the cluster: what is reachable, which version, which permissions are missing.

    Nothing is changed. Exit code 1 if there is a problem; what is merely missing is a warning.
    """
    configuration = load_config_file(config) if config is not None else default_config()
    findings = look_at_installation()
    findings += asyncio.run(look_at_cluster(kubeconfig, configuration, SystemClock()))
    findings = [msgspec.structs.replace(one, found=redacted(one.found)) for one in findings]
    if output is Output.JSON:
        typer.echo(msgspec.json.format(msgspec.json.encode(findings)).decode())
    else:
        Console(highlight=False).print(_table(findings))
    if any(finding.state is State.PROBLEM for finding in findings):
        raise typer.Exit(1)


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1))
    for finding in findings:
        mark, style = _MARKS[finding.state]
        table.add_row(Text(mark, style), Text(finding.about, "bold"), Text(finding.found))
        if finding.advice:
            table.add_row("", "", Text(f"→ {finding.advice}", "dim"))
    return table
