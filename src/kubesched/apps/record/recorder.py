"""From the watches of a cluster to the entries of a trace.

    reflector ──► RecordedKind ──► Recorder ──► (Anonymiser) ──► TraceWriter
                  keeps what the trace knows, so that only what scheduling can tell apart is written

All that is listed before every kind is complete is the state at the start. Pods that have ended are not part of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Set
from typing import Any, Final, Protocol

from kubesched.client.reflector import BATCH
from kubesched.clock import Clock
from kubesched.errors import ApiStatusError, TransportError
from kubesched.objects import KIND_OF, Pod
from kubesched.traces import Change, ChangeType, Entry, Gap, decisions_in, kept
from kubesched.traces.content import ANNOTATIONS

FLUSH_SECONDS: Final = 1.0


class EntrySink(Protocol):
    """Where entries go: a `TraceWriter`, or whoever looks at them as they come."""

    entries: int
    bytes_written: int

    def write(self, entry: Entry) -> None: ...
    def flush(self) -> None: ...
    def end(self, time: float) -> None: ...
    def close(self) -> None: ...


class Recorder:
    """Takes what the mirrors of all kinds report, and writes it once all of them are complete."""

    def __init__(self, kinds: Iterable[type], clock: Clock, *, annotations: Set[str] = frozenset()) -> None:
        """`annotations` are kept besides those that in-tree plugins read."""
        self.annotations = ANNOTATIONS | annotations
        self.kinds = {kind: RecordedKind(kind, self, clock) for kind in kinds}
        self.failure: Exception | None = None
        """Why nothing can be written any more: the disk is full, for one."""
        self.gaps = 0
        self._clock = clock
        self._time = clock.time()
        self._writer: EntrySink | None = None
        self._rename: Callable[[Entry], Entry] = _unchanged

    async def wait_for_sync(self) -> None:
        """Return when the first list of every kind is there."""
        for recorded in self.kinds.values():
            await recorded.synced.wait()

    def begin(self, open_writer: Callable[[float], EntrySink], rename: Callable[[Entry], Entry] | None) -> None:
        """Write all that is there as the state at the start; from now on, write what changes.

        `open_writer` gets the time of the start; `rename` anonymises entries.
        """
        self._time = self._clock.time()
        self._rename = rename or _unchanged
        self._writer = open_writer(self._time)
        for recorded in self.kinds.values():
            for value in recorded.objects.values():
                self._write(Change(time=self._time, type=ChangeType.ADDED, object=value))

    @property
    def writer(self) -> EntrySink:
        assert self._writer is not None, "recording has not begun"
        return self._writer

    def changed(self, old: Any, new: Any) -> None:
        """An object was added (`old` is None), modified, or deleted (`new` is None)."""
        if self._writer is None:
            return
        time = self._now()
        if old is not None and new is not None and old.metadata.uid != new.metadata.uid:
            self._write(Change(time=time, type=ChangeType.DELETED, object=old))
            old = None
        if isinstance(new, Pod):
            for decision in decisions_in(old, new, time):
                self._write(decision)
        if new is None:
            self._write(Change(time=time, type=ChangeType.DELETED, object=old))
        else:
            self._write(Change(time=time, type=ChangeType.MODIFIED if old else ChangeType.ADDED, object=new))

    def gap(self, kind: type, since: float, message: str, *, complete: bool) -> None:
        if self._writer is None:
            return
        time = self._now()
        self.gaps += 1
        self._write(Gap(time=time, since=min(since, time), kind=KIND_OF[kind].name, complete=complete, message=message))

    def flush(self) -> None:
        self._guarded(self.writer.flush)

    def close(self) -> None:
        self.writer.end(self._now())
        self._guarded(self.writer.close)

    def _now(self) -> float:
        """The time, which in a trace never goes back, whatever somebody does to the machine's clock."""
        self._time = max(self._time, self._clock.time())
        return self._time

    def _write(self, entry: Entry) -> None:
        if self.failure is None:
            self._guarded(lambda: self.writer.write(self._rename(entry)))

    def _guarded(self, write: Callable[[], None]) -> None:
        """Any error ends the recording: a reflector would take it for the server's, and try again for ever."""
        try:
            write()
        except Exception as error:
            self.failure = self.failure or error


class RecordedKind:
    """What the trace knows of one kind: a `ReflectorStore` and `Interruptions` of its reflector."""

    def __init__(self, kind: type, recorder: Recorder, clock: Clock) -> None:
        self.objects: dict[str, Any] = {}
        self.synced = asyncio.Event()
        self._kind = kind
        self._recorder = recorder
        self._clock = clock
        self._broken_since: float | None = None
        self._message = ""

    def expect(self, value: Any) -> None:
        if not self.synced.is_set():
            self.put(value)

    async def replace(self, objects: dict[str, Any], unreadable: set[str]) -> None:
        if self.synced.is_set():
            since = self._broken_since if self._broken_since is not None else self._clock.time()
            self._recorder.gap(self._kind, since, self._message, complete=False)
        self._broken_since = None
        for key in [key for key in self.objects if key not in objects and key not in unreadable]:
            self.remove(key, None)
        for count, value in enumerate(objects.values(), start=1):
            self.put(value)
            if count % BATCH == 0:
                await asyncio.sleep(0)
        self.synced.set()

    def put(self, value: Any) -> None:
        new = kept(value, self._recorder.annotations)
        key = new.metadata.key
        old = self.objects.get(key)
        has_ended = type(new) is Pod and new.is_terminal
        if old == new or (has_ended and old is None):
            return  # nothing that scheduling could tell apart
        if has_ended:
            del self.objects[key]
        else:
            self.objects[key] = new
        self._recorder.changed(old, new)

    def remove(self, key: str, final: Any) -> None:
        known = self.objects.pop(key, None)
        if known is not None:
            self._recorder.changed(known, None)

    def broken(self, error: Exception) -> None:
        if self._broken_since is None:
            self._broken_since, self._message = self._clock.time(), _in_short(error)

    def resumed(self) -> None:
        if self._broken_since is not None:
            self._recorder.gap(self._kind, self._broken_since, self._message, complete=True)
            self._broken_since = None


def _unchanged(entry: Entry) -> Entry:
    return entry


def _in_short(error: Exception) -> str:
    """Without addresses and names: a trace may be given to others."""
    if isinstance(error, ApiStatusError):
        return f"{error.code} {error.reason}"
    return "connection lost" if isinstance(error, TransportError) else type(error).__name__
