"""Objects as YAML or JSON, a file or a folder of them: a trace of one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubesched.errors import InvalidObjectError, TraceError
from kubesched.objects.manifests import decode_all, load_documents, read_documents, split_foreign
from kubesched.traces.entries import Header
from kubesched.traces.source import Source
from kubesched.traces.trace import Trace

LARGEST: Final = 1 << 30
"""Bytes of text: it has to fit into memory."""


def recognises(source: Source, first_line: bytes) -> bool:
    """Whatever no other format has recognised; what it is not is said when it is read."""
    return True


def read(sources: Sequence[Source], options: Mapping[str, str]) -> Trace:
    """All objects at the time of the youngest one. Kinds that scheduling does not look at are left out."""
    try:
        known, foreign = split_foreign(_documents(sources))
        objects: list[Any] = list(decode_all(known))
    except InvalidObjectError as error:
        raise TraceError(str(error)) from error
    created = (obj.metadata.creation_timestamp for obj in objects)
    time = max((moment.timestamp() for moment in created if moment is not None), default=0.0)
    trace = Trace.of(objects, time=time, header=Header(started=time, source="manifests"))
    trace.name = sources[0].name if sources else ""
    trace.left_out = foreign
    return trace


def _documents(sources: Iterable[Source]) -> Iterator[tuple[str, Any]]:
    for source in sources:
        if source.path is not None and source.path.is_dir():
            yield from read_documents(source.path)
        else:
            yield from load_documents(_text(source), source.name)


def _text(source: Source) -> str:
    try:
        return source.lines().whole(LARGEST).decode()
    except UnicodeDecodeError as error:
        raise TraceError("neither a trace nor text", name=source.name) from error
