"""The API server's audit log: JSON lines of audit.k8s.io/v1 Events.

Objects are taken from the answers to writes (level RequestResponse) or, where only requests were logged, from the
requests that carry a whole object. Bindings are seen at any level. What a policy leaves out is not in the trace: a log
that starts in the middle of a cluster's life has no state at its start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kubesched.errors import TraceError
from kubesched.objects import KINDS, Pod
from kubesched.objects.base import Json
from kubesched.objects.kinds import Kind
from kubesched.traces.entries import Change, ChangeType, Entry, Header, decisions_in
from kubesched.traces.formats.history import History, only, parse_time, read_json
from kubesched.traces.lines import Lines
from kubesched.traces.source import Beginning, Source
from kubesched.traces.trace import Trace

_WRITES: Final = frozenset({"create", "update", "patch", "delete"})
_WHOLE_OBJECTS: Final = frozenset({"", "status", "ephemeralcontainers", "resize"})
"""Subresources whose answer is the object itself."""
_BEGINNING: Final = re.compile(rb'\s*\{[^}]*"apiVersion"\s*:\s*"audit\.k8s\.io/')
_KIND_BY_RESOURCE: Final[dict[tuple[str, str], Kind]] = {
    (kind.api_version.rpartition("/")[0], kind.plural): kind for kind in KINDS.values()
}
_NOT_OF_SCHEDULING: Final = frozenset({"Event", "Lease", "LeaseCandidate"})


class _Reference(msgspec.Struct, rename="camel"):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""
    subresource: str = ""


class _Answer(msgspec.Struct):
    code: int = 0


class _AuditEvent(msgspec.Struct, rename="camel"):
    stage: str = ""
    verb: str = ""
    stage_timestamp: str = ""
    request_received_timestamp: str = ""
    object_ref: _Reference | None = None
    response_status: _Answer | None = None
    request_object: Any = None
    response_object: Any = None


def recognises(source: Source, first_line: bytes) -> bool:
    return _BEGINNING.match(first_line) is not None


def read(sources: Sequence[Source], options: Mapping[str, str]) -> Trace:
    source = only(sources)
    beginning = Beginning(source)
    started, _ = _event(beginning.first_line, beginning.opened)
    header = Header(started=started, source="audit log")
    trace = Trace(header, lambda: _entries(beginning, trace), name=source.name)
    return trace


def _entries(beginning: Beginning, trace: Trace) -> Iterator[Entry]:
    lines, text = beginning.lines()
    history = History(trace.header.started)
    for line in text:
        try:
            time, event = _event(line, lines)
        except TraceError:
            if lines.is_cut_off:
                break
            raise
        if _is_done(event):
            yield from _changes(event, max(time, history.started), history, lines)
    if lines.is_cut_off:
        trace.notes.append(f"{trace.name} is cut off after line {lines.number}")


def _event(line: bytes, lines: Lines) -> tuple[float, _AuditEvent]:
    event = read_json(line, _AuditEvent, lines)
    return parse_time(event.stage_timestamp or event.request_received_timestamp, lines), event


def _is_done(event: _AuditEvent) -> bool:
    code = event.response_status.code if event.response_status else 0
    return event.stage == "ResponseComplete" and event.verb in _WRITES and 200 <= code < 300


def _changes(event: _AuditEvent, time: float, history: History, lines: Lines) -> Iterator[Entry]:
    reference = event.object_ref or _Reference()
    kind = _KIND_BY_RESOURCE.get((reference.api_group, reference.resource))
    if kind is None or kind.name in _NOT_OF_SCHEDULING:
        return
    if kind.name == "Pod" and reference.subresource == "binding":
        yield from _binding(event, reference, time, history)
    elif reference.subresource in _WHOLE_OBJECTS and (manifest := _manifest(event, reference, kind)) is not None:
        change = ChangeType.MODIFIED
        if event.verb == "create":
            change = ChangeType.ADDED
        elif event.verb == "delete" and _is_gone(manifest):
            change = ChangeType.DELETED
        yield from history.change(change, manifest, time, lines)


def _manifest(event: _AuditEvent, reference: _Reference, kind: Kind) -> Json | None:
    """The object after the write; of one that was deleted, at least its name. None if it was not logged."""
    for candidate in (event.response_object, event.request_object if event.verb != "patch" else None):
        if isinstance(candidate, dict) and candidate.get("kind") == kind.name:
            metadata = candidate.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            named = {"name": reference.name, "namespace": reference.namespace, **metadata}
            return {**candidate, "metadata": {key: value for key, value in named.items() if value}}
    if event.verb == "delete":
        return {"kind": kind.name, "metadata": {"name": reference.name, "namespace": reference.namespace}}
    return None


def _is_gone(manifest: Json) -> bool:
    """Whether this answer to a DELETE is the end: with a grace period or finalizers, the object stays for a while."""
    metadata = manifest["metadata"]
    return not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")


def _binding(event: _AuditEvent, reference: _Reference, time: float, history: History) -> Iterator[Entry]:
    """A pod's binding is answered by a Status; the pod itself is changed by it."""
    pod = history.state.get(Pod, f"{reference.namespace}/{reference.name}")
    target = event.request_object.get("target") if isinstance(event.request_object, dict) else None
    node = target.get("name") if isinstance(target, dict) else None
    if pod is None or pod.spec.node_name or not isinstance(node, str):
        return
    bound = replace(pod, spec=replace(pod.spec, node_name=node))
    history.time = max(time, history.time)
    yield from decisions_in(pod, bound, history.time)
    change = Change(time=history.time, type=ChangeType.MODIFIED, object=bound)
    history.state.apply(change)
    yield change
