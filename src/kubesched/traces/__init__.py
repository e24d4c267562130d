"""Traces: what happened in a cluster over time, as files and streams. A public package (docs/traces.md).

What does not belong here: any decision about scheduling, and any talk with a cluster (`apps.record` does that).
"""

from __future__ import annotations

from kubesched.errors import TraceError
from kubesched.traces.content import kept
from kubesched.traces.entries import (
    Change,
    ChangeType,
    Decision,
    DecisionType,
    Entry,
    Gap,
    Header,
    decisions_in,
)
from kubesched.traces.formats import FORMATS, Format, import_trace, open_trace, recognise
from kubesched.traces.preemptions import Preemption, preemptions
from kubesched.traces.source import Source
from kubesched.traces.state import State
from kubesched.traces.trace import Trace
from kubesched.traces.writer import TraceWriter

__all__ = [
    "FORMATS",
    "Change",
    "ChangeType",
    "Decision",
    "DecisionType",
    "Entry",
    "Format",
    "Gap",
    "Header",
    "Preemption",
    "Source",
    "State",
    "Trace",
    "TraceError",
    "TraceWriter",
    "decisions_in",
    "import_trace",
    "kept",
    "open_trace",
    "preemptions",
    "recognise",
]
