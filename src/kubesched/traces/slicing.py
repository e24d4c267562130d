"""A part of a trace, which is a trace again; and moments as people write them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from kubesched.config.duration import parse_duration
from kubesched.errors import TraceError
from kubesched.objects import Namespace
from kubesched.traces.entries import Change, ChangeType, Decision, Entry, Header
from kubesched.traces.state import State
from kubesched.traces.trace import Trace


def parse_moment(text: str, header: Header) -> float | None:
    """A moment of a trace: `2026-11-18T09:30:00Z`, or `90s`, `1h30m` after its start; None for `end`. TraceError."""
    if text in ("", "end"):
        return None
    try:
        return header.started + parse_duration(text.removeprefix("+")).total_seconds()
    except ValueError:
        pass
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError as error:
        problem = f"{text!r} is no moment: write 2026-11-18T09:30:00Z, or 1h30m after the start of the trace, or end"
        raise TraceError(problem) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def cut(
    trace: Trace, *, since: float | None = None, until: float | None = None, namespaces: Collection[str] = ()
) -> Trace:
    """What happened from `since` to `until`, both included, in these namespaces.

    It begins with the whole state at `since`. Of namespaces, all objects are kept, and all that have no namespace,
    nodes for one; the other namespaces' pods are gone, so nodes look emptier than they were.
    """
    started = trace.header.started if since is None else max(since, trace.header.started)
    header = replace(trace.header, started=started)
    part = Trace(header, lambda: _part(trace, part, until, frozenset(namespaces)), name=trace.name)
    return part


def _part(trace: Trace, part: Trace, until: float | None, namespaces: frozenset[str]) -> Iterator[Entry]:
    started = part.header.started
    state: State | None = State()
    for entry in trace:
        if until is not None and entry.time > until:
            break
        if not _belongs(entry, namespaces):
            continue
        if state is not None:
            if entry.time <= started:
                state.apply(entry)
                continue
            yield from _as_added(state, started)
            state = None
        yield entry
    if state is not None:
        yield from _as_added(state, started)
    part.notes += trace.notes
    if until is not None or trace.ended is not None:
        part.end_at(min(time for time in (until, trace.ended) if time is not None))


def _as_added(state: State, time: float) -> Iterator[Change]:
    return (Change(time=time, type=ChangeType.ADDED, object=obj) for obj in state)


def _belongs(entry: Entry, namespaces: frozenset[str]) -> bool:
    if not namespaces:
        return True
    if isinstance(entry, Change):
        obj: Any = entry.object
        namespace = obj.metadata.name if isinstance(obj, Namespace) else obj.metadata.namespace
        return not namespace or namespace in namespaces
    return not isinstance(entry, Decision) or entry.pod.partition("/")[0] in namespaces
