"""kubesched's own format (docs/traces.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubesched.errors import TraceError
from kubesched.traces.entries import Entry
from kubesched.traces.lines import Lines
from kubesched.traces.source import Source
from kubesched.traces.trace import Trace
from kubesched.traces.wire import decode_entries, decode_header, is_header


def recognises(source: Source, first_line: bytes) -> bool:
    return is_header(first_line)


def read(sources: Sequence[Source], options: Mapping[str, str]) -> Trace:
    source = only(sources)
    lines = source.lines()
    text = iter(lines)
    header = decode_header(next(text, b""), lines)
    opened = []
    if source.path is not None:
        text.close()
    else:
        opened.append((lines, text))  # a stream goes on where the header ended

    def entries() -> Iterator[Entry]:
        lines, text = opened.pop() if opened else _after_header(source)
        yield from decode_entries(lines, text, header)
        if lines.is_cut_off:
            trace.notes.append(f"{source.name} is cut off after line {lines.number}: the recording was killed")

    trace = Trace(header, entries, name=source.name)
    return trace


def _after_header(source: Source) -> tuple[Lines, Iterator[bytes]]:
    lines = source.lines()
    text = iter(lines)
    next(text, b"")
    return lines, text


def only(sources: Sequence[Source]) -> Source:
    """The one file that a format of one file takes."""
    if len(sources) != 1:
        raise TraceError(f"this format takes one file, not {len(sources)}")
    return sources[0]
