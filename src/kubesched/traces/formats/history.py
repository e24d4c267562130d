"""What importers share: from the changes that another program wrote down to the entries of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec

from kubesched.errors import InvalidObjectError, TraceError
from kubesched.objects import KINDS, Pod, convert
from kubesched.objects.base import Json
from kubesched.traces.content import kept
from kubesched.traces.entries import Change, ChangeType, Entry, decisions_in
from kubesched.traces.lines import Lines
from kubesched.traces.source import Source
from kubesched.traces.state import State

LATEST_DISORDER: Final = 60.0
"""Seconds by which a line may be older than the one before: writers that run side by side swap lines."""

T = TypeVar("T")


class History:
    """Keeps the state so far, so that every change follows from it, and sees the decisions in what changed.

    Takes as much memory as the cluster has objects.
    """

    def __init__(self, started: float) -> None:
        self.state = State()
        self.time = self.started = started

    def change(self, kind: ChangeType, manifest: Json, time: float, lines: Lines) -> Iterator[Entry]:
        """The entries for an object that was reported in this way. TraceError names the line."""
        try:
            obj: Any = kept(convert(manifest, KINDS[manifest["kind"]].struct))
        except InvalidObjectError as error:
            raise lines.error(str(error)) from error
        if not obj.metadata.name:
            raise lines.error("an object without a name")
        if self.time - time > LATEST_DISORDER:
            raise lines.error(f"the time goes back by {self.time - time:.0f} seconds")
        known = self.state.get(type(obj), obj.metadata.key)
        if self._is_older_than_the_recording(kind, obj):
            time = self.started
        self.time = time = max(time, self.time)
        if kind is ChangeType.DELETED:
            if known is not None:
                yield self._apply(ChangeType.DELETED, known)
        elif known is None and isinstance(obj, Pod) and obj.is_terminal:
            return
        elif known is not None and known.metadata.uid != obj.metadata.uid:
            yield self._apply(ChangeType.DELETED, known)
            yield from self._put(None, obj)
        elif known != obj:
            yield from self._put(known, obj)

    def _put(self, known: Any, obj: Any) -> Iterator[Entry]:
        if isinstance(obj, Pod) and self.time > self.started:
            yield from decisions_in(known, obj, self.time)
        yield self._apply(ChangeType.ADDED if known is None else ChangeType.MODIFIED, obj)

    def _apply(self, kind: ChangeType, obj: Any) -> Change:
        change = Change(time=self.time, type=kind, object=obj)
        self.state.apply(change)
        return change

    def _is_older_than_the_recording(self, kind: ChangeType, obj: Any) -> bool:
        """A recorder lists what is there before it watches: those objects were not added now."""
        created = obj.metadata.creation_timestamp
        return (
            kind is ChangeType.ADDED
            and self.time == self.started
            and created is not None
            and created.timestamp() < self.started
        )


def only(sources: Sequence[Source]) -> Source:
    """The one file that a format of one file takes."""
    if len(sources) != 1:
        raise TraceError(f"this format takes one file, not {len(sources)}")
    return sources[0]


def read_json(line: bytes, into: type[T], lines: Lines) -> T:
    try:
        return msgspec.json.decode(line, type=into)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise lines.error(str(error)) from error


def parse_time(text: str, lines: Lines) -> float:
    """An RFC 3339 time as seconds; digits after the microseconds are cut off."""
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError as error:
        raise lines.error(f"not a time: {text[:60]!r}") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
