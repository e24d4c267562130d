"""kube-scheduler-simulator's recording: JSON lines with `time`, `event` (Add, Update, Delete) and `resource`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kubesched.errors import TraceError
from kubesched.objects import KINDS
from kubesched.objects.base import Json
from kubesched.traces.entries import ChangeType, Entry, Header
from kubesched.traces.formats.history import History, only, parse_time, read_json
from kubesched.traces.lines import Lines
from kubesched.traces.source import Beginning, Source
from kubesched.traces.trace import Trace

_TYPES: Final = {"Add": ChangeType.ADDED, "Update": ChangeType.MODIFIED, "Delete": ChangeType.DELETED}


class _Record(msgspec.Struct):
    time: str
    event: str
    resource: Json


def recognises(source: Source, first_line: bytes) -> bool:
    try:
        msgspec.json.decode(first_line, type=_Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def read(sources: Sequence[Source], options: Mapping[str, str]) -> Trace:
    """Objects that were older than the recording are the state at its start."""
    source = only(sources)
    beginning = Beginning(source)
    started, _ = _record(beginning.first_line, beginning.opened)
    header = Header(started=started, source="kube-scheduler-simulator")
    trace = Trace(header, lambda: _entries(beginning, trace), name=source.name)
    return trace


def _entries(beginning: Beginning, trace: Trace) -> Iterator[Entry]:
    lines, text = beginning.lines()
    history = History(trace.header.started)
    for line in text:
        try:
            time, record = _record(line, lines)
        except TraceError:
            if lines.is_cut_off:
                break
            raise
        if record.event not in _TYPES:
            raise lines.error(f"unknown event {record.event!r}; there are {', '.join(_TYPES)}")
        if record.resource.get("kind") in KINDS:
            yield from history.change(_TYPES[record.event], record.resource, time, lines)
    if lines.is_cut_off:
        trace.notes.append(f"{trace.name} is cut off after line {lines.number}")


def _record(line: bytes, lines: Lines) -> tuple[float, _Record]:
    record = read_json(line, _Record, lines)
    return parse_time(record.time, lines), record
