"""`kubesched shadow`: would we have decided as the scheduler of this cluster does?"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Annotated, BinaryIO

import msgspec
import typer
import uvloop
from rich.console import Console

from kubesched.apps.inputs.traces import load_trace
from kubesched.apps.record.session import Progress, Recording
from kubesched.apps.run.clients import choose_connection
from kubesched.apps.shadow.judge import Judge, Judgement
from kubesched.apps.shadow.metrics import served
from kubesched.apps.shadow.session import shadow_cluster, shadow_trace
from kubesched.apps.shadow.summary import Tally, as_data, as_text
from kubesched.cli.options import (
    ConfigFile,
    EmulatedVersion,
    GateList,
    KubeconfigFile,
    Output,
    OutputFormat,
    policy_of,
    tell_notes,
)
from kubesched.cli.record import parse_seconds
from kubesched.client.http_transport import HttpTransport
from kubesched.clock import SystemClock
from kubesched.errors import ConfigurationError, TraceError

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
    metrics: Annotated[
        str,
        typer.Option("--metrics-bind-address", metavar="HOST:PORT", help="Serve metrics for Prometheus at /metrics."),
    ] = "",
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
    if record is not None and record.exists():
        raise ConfigurationError([f"{record}: the file exists already"])
    tally = Tally()
    with ExitStack() as stack:
        lines = stack.enter_context(report.open("wb")) if report is not None else None

        def judged(judgement: Judgement) -> None:
            tally.add(judgement)
            if lines is not None:
                lines.write(msgspec.json.encode(judgement) + b"\n")

        policy = policy_of(config, feature_gates, emulated_version, kubeconfig=kubeconfig, is_live=trace is None)
        judge = Judge(
            policy.config,
            feature_gates=policy.feature_gates,
            emulated_version=policy.emulated_version,
            percentage_of_nodes=percentage,
            report=judged,
        )
        if metrics:
            stack.enter_context(served(tally, metrics))
        broken: TraceError | None = None
        if trace is not None:
            broken = _judge_file(judge, trace)
        else:
            recording = Recording(path=record or Path(os.devnull), seconds=parse_seconds(duration))
            uvloop.run(_follow(judge, tally, recording, kubeconfig, lines, keep=record is not None))
    summary = tally.summary()
    typer.echo(json.dumps(as_data(summary)) if output is Output.JSON else as_text(summary))
    if broken is not None:
        raise broken


def _judge_file(judge: Judge, file: Path) -> TraceError | None:
    """Judge a recording as far as it can be read; why not to its end."""
    trace = load_trace(file)
    try:
        shadow_trace(judge, trace)
    except TraceError as error:
        return error
    tell_notes(trace)
    return None


async def _follow(
    judge: Judge, tally: Tally, recording: Recording, kubeconfig: str, lines: BinaryIO | None, *, keep: bool
) -> None:
    clock, stop = SystemClock(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    transport = HttpTransport(choose_connection(kubeconfig, clock))
    console = Console(stderr=True, highlight=False)
    with console.status("listing the cluster") as status:

        def show(progress: Progress) -> None:
            status.update(
                f"{progress.nodes:,} nodes, {progress.pods:,} pods, {tally.bindings:,} bindings judged, "
                f"{100 * tally.agreement:.2f} % agreement (Ctrl-C ends it)"
            )
            if lines is not None:
                lines.flush()

        try:
            random = Random(os.urandom(8))  # noqa: S311 - for the jitter of retries
            await shadow_cluster(judge, recording, transport, clock, random, stop=stop, keep=keep, report=show)
        finally:
            await transport.close()
