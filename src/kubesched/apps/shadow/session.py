"""A judge in front of a live cluster, or of a recorded trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

from kubesched.apps.record.session import Progress, Recording, record
from kubesched.apps.shadow.judge import Judge
from kubesched.client.transport import Transport
from kubesched.clock import Clock
from kubesched.traces import Entry, Header, Trace, TraceWriter


async def shadow_cluster(
    judge: Judge,
    recording: Recording,
    transport: Transport,
    clock: Clock,
    random: Random,
    *,
    stop: asyncio.Event,
    keep: bool,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Follow a cluster and judge every binding in it, until the time is up or `stop` is set.

    With `keep`, what is seen is recorded in the recording's file as well. Every request is a GET. Errors as `record`.
    """

    def open_sink(header: Header) -> JudgingSink:
        return JudgingSink(judge, TraceWriter.create(recording.path, header) if keep else None)

    try:
        return await record(recording, transport, clock, random, stop=stop, report=report, open_sink=open_sink)
    finally:
        judge.close()


def shadow_trace(judge: Judge, trace: Trace | str | Path) -> None:
    """Judge every binding of a recording. TraceError where it cannot be read; all before that is judged."""
    try:
        for entry in trace if isinstance(trace, Trace) else Trace.open(trace):
            judge.take(entry)
    finally:
        judge.close()


class JudgingSink:
    """Hands entries to a judge, and on to a file if there is one."""

    def __init__(self, judge: Judge, writer: TraceWriter | None) -> None:
        self.entries = 0
        self.bytes_written = 0
        self._judge = judge
        self._writer = writer

    def write(self, entry: Entry) -> None:
        self.entries += 1
        self._judge.take(entry)
        if self._writer is not None:
            self._writer.write(entry)

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()
            self.bytes_written = self._writer.bytes_written

    def end(self, time: float) -> None:
        if self._writer is not None:
            self._writer.end(time)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
