"""One recording, from the connection to the closed file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from kubesched.apps.record.recorder import FLUSH_SECONDS, EntrySink, Recorder
from kubesched.apps.run.informers import ALWAYS_WATCHED, AccessCheck
from kubesched.client.reflector import Reflector
from kubesched.client.rest import RestClient
from kubesched.client.transport import Transport
from kubesched.clock import Clock
from kubesched.errors import ClientError
from kubesched.objects import DeviceTaintRule, Node, Pod, PodGroup
from kubesched.objects.base import Json
from kubesched.traces import Entry, Header, TraceWriter
from kubesched.traces.anonymise import Anonymiser

RECORDED: Final[tuple[type, ...]] = (*ALWAYS_WATCHED, PodGroup, DeviceTaintRule)
"""Whatever scheduling may read, with any feature gates; kinds that the server does not have are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is asked for."""

    path: Path
    seconds: float | None = None
    """How long; None: until it is stopped."""
    anonymiser: Anonymiser | None = None
    annotations: tuple[str, ...] = ()
    configuration: Json | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a recording is."""

    seconds: float
    entries: int
    bytes_written: int
    nodes: int
    pods: int
    gaps: int


OpenSink = Callable[[Header], EntrySink]
"""Opens where entries go; the header says what is known of the cluster."""


async def record(
    recording: Recording,
    transport: Transport,
    clock: Clock,
    random: Random,
    *,
    stop: asyncio.Event,
    report: Callable[[Progress], None] = lambda progress: None,
    open_sink: OpenSink | None = None,
) -> Progress:
    """Record until the time is up or `stop` is set. `report` is called about once a second.

    Entries go to the recording's file, unless `open_sink` says where. Every request is a GET. ConfigurationError where
    a person must mend something, ClientError if the server does not answer at the start, TraceError if the file
    exists, OSError if it cannot be written any more.
    """
    opened: OpenSink = open_sink or (lambda header: TraceWriter.create(recording.path, header))
    rest = RestClient(transport, clock, random)
    kinds = await AccessCheck(rest, RECORDED).served_kinds_at_once()
    recorder = Recorder(kinds, clock, annotations=frozenset(recording.annotations))
    tasks = [
        asyncio.create_task(
            Reflector(rest, kind, mirror, clock, random, first_list_in_pages=True, interruptions=mirror).run(),
            name=f"record-{kind.__name__}",
        )
        for kind, mirror in recorder.kinds.items()
    ]
    ending = asyncio.create_task(stop.wait())
    try:
        if not await _first(asyncio.create_task(recorder.wait_for_sync()), ending):
            return Progress(0.0, 0, 0, 0, 0, 0)
        facts = {"nodes": len(recorder.kinds[Node].objects), "pods": len(recorder.kinds[Pod].objects)}
        header = Header(
            started=0.0,
            source="record",
            kubernetes=await _server_version(rest),
            cluster=facts,
            configuration=None if recording.anonymiser else recording.configuration,
            anonymised=recording.anonymiser is not None,
            annotations=recording.annotations,
        )
        rename: Callable[[Entry], Entry] | None = recording.anonymiser.entry if recording.anonymiser else None
        recorder.begin(lambda time: opened(replace(header, started=time)), rename)
        return await _follow(recorder, recording, clock, ending, report)
    finally:
        for task in (ending, *tasks):
            task.cancel()
        await asyncio.gather(ending, *tasks, return_exceptions=True)


async def _follow(
    recorder: Recorder,
    recording: Recording,
    clock: Clock,
    ending: asyncio.Task[Any],
    report: Callable[[Progress], None],
) -> Progress:
    started = clock.monotonic()
    try:
        while recorder.failure is None:
            recorder.flush()
            elapsed = clock.monotonic() - started
            report(_progress(recorder, elapsed))
            left = FLUSH_SECONDS if recording.seconds is None else min(FLUSH_SECONDS, recording.seconds - elapsed)
            if left <= 0 or not await _first(asyncio.create_task(clock.sleep(left)), ending):
                break
    finally:
        recorder.close()
    if isinstance(recorder.failure, OSError):
        raise OSError(recorder.failure.errno, recorder.failure.strerror, str(recording.path))
    if recorder.failure is not None:
        raise recorder.failure
    return _progress(recorder, clock.monotonic() - started)


async def _first(work: asyncio.Task[None], ending: asyncio.Task[Any]) -> bool:
    """Wait for work; False, and it is cancelled, if the end comes first."""
    await asyncio.wait({work, ending}, return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        await work
        return True
    work.cancel()
    return False


def _progress(recorder: Recorder, seconds: float) -> Progress:
    writer = recorder.writer
    nodes, pods = (len(recorder.kinds[kind].objects) if kind in recorder.kinds else 0 for kind in (Node, Pod))
    return Progress(seconds, writer.entries, writer.bytes_written, nodes, pods, recorder.gaps)


async def _server_version(rest: RestClient) -> str:
    try:
        return str(json.loads(await rest.call("GET", "/version", retries=0))["gitVersion"])
    except (ClientError, ValueError, KeyError, TypeError):
        return ""  # nothing depends on it
