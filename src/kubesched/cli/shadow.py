"""`kubesched shadow`: would we have decided as the scheduler of this cluster does?"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import typer
import uvloop
from rich.console import Console

from kubesched.apps.record.session import Progress, Recording
from kubesched.apps.run.clients import choose_connection
from kubesched.apps.shadow.judge import Judge
from kubesched.apps.shadow.session import shadow_cluster, shadow_trace
from kubesched.apps.shadow.summary import as_data, as_text, summary_of
from kubesched.cli.options import ConfigFile, EmulatedVersion, GateList, KubeconfigFile, Output, OutputFormat
from kubesched.cli.record import parse_seconds
from kubesched.client.http_transport import HttpTransport
from kubesched.clock import SystemClock
from kubesched.errors import ConfigurationError

app = typer.Typer(add_completion=False)


@app.command()
def shadow(
    trace: Annotated[
        Path | None, typer.Argument(metavar="[TRACE]", help="Judge a recording; without one, the cluster as it goes.")
    ] = None,
    kubeconfig: KubeconfigFile = "",
    config: ConfigFile = None,
    duration: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long: 10m, 24h; until Ctrl-C by default.")
    ] = "",
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Record what is seen, too: to replay differences.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write every judgement as a line of JSON.")
    ] = None,
    percentage: Annotated[
        int,
        typer.Option(
            "--their-percentage",
            metavar="N",
            min=0,
            max=100,
            help="The judged scheduler's percentageOfNodesToScore; 0 is its default.",
        ),
    ] = 0,
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """Judge every binding that another scheduler makes, on the state just before it. Reads only, writes nothing.

    The configuration is the one to judge by: the live scheduler's, to see whether we agree; another one, to see what it
    would have done instead.
    """
    judge = Judge(
        config, feature_gates=feature_gates, emulated_version=emulated_version, percentage_of_nodes=percentage
    )
    if trace is not None:
        shadow_trace(judge, trace)
    else:
        if record is not None and record.exists():
            raise ConfigurationError([f"{record}: the file exists already"])
        recording = Recording(path=record or Path(os.devnull), seconds=parse_seconds(duration))
        uvloop.run(_follow(judge, recording, kubeconfig, keep=record is not None))
    if report is not None:
        report.write_bytes(b"".join(msgspec.json.encode(judgement) + b"\n" for judgement in judge.judgements))
    summary = summary_of(judge.judgements)
    typer.echo(json.dumps(as_data(summary)) if output is Output.JSON else as_text(summary))


async def _follow(judge: Judge, recording: Recording, kubeconfig: str, *, keep: bool) -> None:
    clock, stop = SystemClock(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    transport = HttpTransport(choose_connection(kubeconfig, clock))
    console = Console(stderr=True, highlight=False)
    with console.status("listing the cluster") as status:

        def show(progress: Progress) -> None:
            summary = summary_of(judge.judgements)
            status.update(
                f"{progress.nodes:,} nodes, {progress.pods:,} pods, {summary.bindings:,} bindings judged, "
                f"{100 * summary.agreement:.2f} % agreement (Ctrl-C ends it)"
            )

        try:
            random = Random(os.urandom(8))  # noqa: S311 - for the jitter of retries
            await shadow_cluster(judge, recording, transport, clock, random, stop=stop, keep=keep, report=show)
        finally:
            await transport.close()
