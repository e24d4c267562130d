"""kubesched's own format (docs/traces.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubesched.traces.entries import Entry
from kubesched.traces.formats.history import only
from kubesched.traces.source import Beginning, Source
from kubesched.traces.trace import Trace
from kubesched.traces.wire import decode_entries, decode_header, is_header


def recognises(source: Source, first_line: bytes) -> bool:
    return is_header(first_line)


def read(sources: Sequence[Source], options: Mapping[str, str]) -> Trace:
    source = only(sources)
    beginning = Beginning(source)
    header = decode_header(beginning.first_line, beginning.opened)

    def entries() -> Iterator[Entry]:
        lines, text = beginning.lines()
        try:
            next(text, b"")
            yield from decode_entries(lines, text, header, trace.end_at)
        finally:
            lines.close()
        if lines.is_cut_off:
            trace.notes.append(f"{source.name} is cut off after line {lines.number}: the recording was killed")

    trace = Trace(header, entries, name=source.name)
    return trace
