"""Trace: what happened in a cluster over time.

from kubesched.traces import Trace

trace = Trace.open("monday.jsonl.zst")
for entry in trace:                       # streamed: a file may be larger than memory
    ...
state = trace.state_at(trace.header.started + 600)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from kubesched.traces.entries import Change, ChangeType, Entry, Header
from kubesched.traces.state import State
from kubesched.traces.writer import TraceWriter


class Trace:
    """A header, and entries in the order of their times. It can be iterated again and again, except for a stream.

    A recording, an import, a generated workload and a single dump are all traces. TraceError while iterating, after
    all entries before it, where something is wrong.
    """

    def __init__(self, header: Header, entries: Callable[[], Iterator[Entry]], *, name: str = "") -> None:
        self.header = header
        self.name = name
        """Of the file; empty for one that is in memory."""
        self.notes: list[str] = []
        """What the last reading found that is no error: the file was cut off, for one."""
        self.ended: float | None = None
        """Until when the cluster was watched; known once it was read to its end, and not for all traces."""
        self.left_out: list[str] = []
        """Kinds in a dump that scheduling does not look at, sorted."""
        self._entries = entries

    @classmethod
    def open(cls, source: str | Path | BinaryIO) -> Trace:
        """A trace in any format that kubesched recognises (`kubesched.traces.open_trace`)."""
        from kubesched.traces.formats import open_trace  # not at the top: formats are made of traces

        return open_trace(source)

    @classmethod
    def of(cls, objects: Iterable[Any], *, time: float = 0.0, header: Header | None = None) -> Trace:
        """A trace of one moment, from objects."""
        entries = [Change(time=time, type=ChangeType.ADDED, object=obj) for obj in objects]
        return cls(header or Header(started=time, source="objects"), lambda: iter(entries))

    def __repr__(self) -> str:
        return f"<Trace {self.name or 'in memory'}: {self.header.source}>"

    def __iter__(self) -> Iterator[Entry]:
        self.notes.clear()
        return self._entries()

    def end_at(self, time: float) -> None:
        """For readers of files: the cluster was watched until then, though nothing more may have happened."""
        self.ended = time

    def state_at(self, time: float | None = None) -> State:
        """The objects at a moment, all changes at that very time included; None is the end of the trace."""
        state = State()
        state.time = self.header.started
        for entry in self:
            if time is not None and entry.time > time:
                state.time = time
                break
            state.apply(entry)
        return state

    def save(self, path: str | Path) -> None:
        """Write it to a new file in our format. TraceError if the file exists."""
        with TraceWriter.create(Path(path), self.header) as writer:
            writer.write_all(self)
            if self.ended is not None:
                writer.end(self.ended)
