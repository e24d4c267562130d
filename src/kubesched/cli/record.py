"""`kubesched record`: what happens in a cluster, as a trace."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.status import Status

from kubesched.apps.record.session import Progress, Recording, record
from kubesched.apps.run.clients import choose_connection
from kubesched.cli.options import ConfigFile, KubeconfigFile
from kubesched.client.http_transport import HttpTransport
from kubesched.clock import SystemClock
from kubesched.config import FeatureGates, load_config_file
from kubesched.config.document import parse_document
from kubesched.config.duration import format_duration, parse_duration
from kubesched.config.load import read_text
from kubesched.errors import ConfigurationError
from kubesched.objects.base import Json
from kubesched.traces.anonymise import Anonymiser

app = typer.Typer(add_completion=False)


@app.command(name="record")
def record_cluster(
    kubeconfig: KubeconfigFile = "",
    duration: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long: 1h, 30m; until Ctrl-C by default.")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to; trace-<time>.jsonl.zst by default."),
    ] = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="Replace names, namespaces, labels and images by pseudonyms.")
    ] = False,
    keep_annotation: Annotated[
        list[str] | None,
        typer.Option("--keep-annotation", metavar="KEY", help="An annotation that a plugin of your own reads."),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Record what scheduling looks at in a cluster, and the decisions that are made. Reads only.

    The file can be read while it is written, and up to the last second if this process is killed. With --config, the
    scheduler's configuration is noted in it.
    """
    seconds = parse_seconds(duration)
    path = output or Path(f"trace-{datetime.now(UTC):%Y%m%d-%H%M%S}.jsonl.zst")
    recording = Recording(
        path=path,
        seconds=seconds,
        anonymiser=Anonymiser(secrets.token_bytes(32)) if anonymise else None,
        annotations=tuple(keep_annotation or ()),
        configuration=_configuration(config),
    )
    if path.exists():
        raise ConfigurationError([f"{path}: the file exists already"])
    console = Console(stderr=True, highlight=False)
    with console.status(f"{path}: listing the cluster") as status:
        done = uvloop.run(_run(recording, kubeconfig, _Line(status, path)))
    if not done.entries:
        typer.echo("stopped before the cluster was listed: nothing was recorded", err=True)
        return
    gaps = f", {done.gaps} gaps" if done.gaps else ""
    typer.echo(f"{path}: {_time(done.seconds)}, {done.entries:,} entries{gaps}, {_size(done.bytes_written)}", err=True)


async def _run(recording: Recording, kubeconfig: str, line: _Line) -> Progress:
    clock = SystemClock()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    transport = HttpTransport(choose_connection(kubeconfig, clock))
    try:
        random = Random(os.urandom(8))  # noqa: S311 - for the jitter of retries
        return await record(recording, transport, clock, random, stop=stop, report=line.show)
    finally:
        await transport.close()


class _Line:
    """The line that shows how far the recording is, on a terminal."""

    def __init__(self, status: Status, path: Path) -> None:
        self._status = status
        self._path = path
        self._last: Progress | None = None

    def show(self, now: Progress) -> None:
        last, self._last = self._last, now
        if not sys.stderr.isatty():
            return
        rate = 0.0
        if last is not None and now.seconds > last.seconds:
            rate = (now.entries - last.entries) / (now.seconds - last.seconds)
        gaps = f", [yellow]{now.gaps} gaps[/]" if now.gaps else ""
        self._status.update(
            f"{self._path}: {_time(now.seconds)}, {now.nodes:,} nodes, {now.pods:,} pods, "
            f"{rate:,.0f} entries/s{gaps}, {_size(now.bytes_written)} (Ctrl-C ends it)"
        )


def parse_seconds(duration: str) -> float | None:
    if not duration:
        return None
    try:
        seconds = parse_duration(duration).total_seconds()
    except ValueError as error:
        raise ConfigurationError([f"--for: {error}"]) from error
    if seconds <= 0:
        raise ConfigurationError([f"--for: expected a duration greater than zero, got {duration}"])
    return seconds


def _configuration(config: Path | None) -> Json | None:
    if config is None:
        return None
    load_config_file(config, FeatureGates())  # says what is wrong with it
    document: Json = json.loads(json.dumps(parse_document(read_text(config))))
    return document


def _time(seconds: float) -> str:
    return format_duration(timedelta(seconds=round(seconds)))


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"
