"""Traces that a command is given: files in any format, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from kubesched.traces import FORMATS, Source, State, Trace, TraceError, recognise
from kubesched.traces.slicing import parse_moment

STREAM: Final = Path("-")
STANDARD_INPUT: Final = "standard input"
MANIFESTS: Final = "manifests"


def load_trace(path: Path) -> Trace:
    """The trace in a file or folder, in any format that is recognised; `-` is standard input. TraceError."""
    source = source_of(path)
    return FORMATS[recognise(source)].read([source], {})


def source_of(path: Path) -> Source:
    """A file or folder; `-` is standard input, which can be read once."""
    if path != STREAM:
        return Source.of(path)
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise TraceError("standard input cannot be read")
    source = Source.of(stream)
    source.name = STANDARD_INPUT
    return source


def state_of(source: Source, at: str) -> State | None:
    """The objects at a moment of a trace, as `parse_moment` reads it; None if it has objects only. TraceError."""
    if source.path is not None and not source.path.is_file():
        return None
    name = recognise(source)
    if name == MANIFESTS:
        return None
    trace = FORMATS[name].read([source], {})
    return trace.state_at(parse_moment(at, trace.header))
