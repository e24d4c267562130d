"""Traces that a command is given: files in any format, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from kubesched.traces import Source, State, Trace, TraceError, open_trace, recognise
from kubesched.traces.slicing import parse_moment

STREAM = Path("-")


def load_trace(path: Path) -> Trace:
    """The trace in a file or folder, in any format that is recognised; `-` is standard input. TraceError."""
    if path != STREAM:
        return open_trace(path)
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise TraceError("standard input cannot be read")
    trace = open_trace(stream)
    trace.name = "standard input"
    return trace


def is_trace(path: Path) -> bool:
    """Whether the file is a trace, not a file of objects (which is a trace of one moment, but loaded as such)."""
    return path.is_file() and recognise(Source.of(path)) != "manifests"


def state_of(path: Path, at: str) -> State:
    """The objects at a moment of a trace, as `parse_moment` reads it. TraceError."""
    trace = open_trace(path)
    return trace.state_at(parse_moment(at, trace.header))
