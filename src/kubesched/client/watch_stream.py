"""A watch's bytes to events."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from kubesched.client.incoming import Unreadable, read_object
from kubesched.client.transport import Status
from kubesched.errors import ApiStatusError, InvalidObjectError, TransportError
from kubesched.objects import decoding

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class WatchEvent(msgspec.Struct, Generic[T_co], frozen=True, gc=False):
    """One event: its type, and the object that it is about (of a bookmark, little more than a version)."""

    type: str
    object: T_co


_RAW_EVENT: Final = msgspec.json.Decoder(WatchEvent[msgspec.Raw])
_STATUS: Final = msgspec.json.Decoder(Status)


class EventReader(Generic[T]):
    """Reads the events of one kind's watch.

    An event is decoded in one pass, on the assumption that it carries an object of the kind. Whatever does not fit
    that is looked at again, in two: an unreadable object must not hide what happened to it.
    """

    def __init__(self, struct: type[T], url: str) -> None:
        self._struct = struct
        event: type[WatchEvent[T]] = WatchEvent[struct]  # type: ignore[valid-type] # known at run time only
        self._decode = decoding(event)
        self._url = url

    def read(self, line: bytes) -> WatchEvent[T | Unreadable]:
        """ApiStatusError for an ERROR event; TransportError for a line that is no event: the stream is broken."""
        try:
            event = self._decode(line)
        except InvalidObjectError:
            return self._read_in_two(line)
        if event.type == "ERROR":
            return self._read_in_two(line)
        return event

    def _read_in_two(self, line: bytes) -> WatchEvent[T | Unreadable]:
        try:
            event = _RAW_EVENT.decode(line)
        except msgspec.MsgspecError as error:
            raise TransportError(f"broken watch stream: {error}") from error
        if event.type == "ERROR":
            raise _error_in(event.object, self._url)
        return WatchEvent(event.type, read_object(event.object, self._struct))


def _error_in(data: msgspec.Raw, url: str) -> ApiStatusError:
    """What an ERROR event says: the server's Status."""
    try:
        status = _STATUS.decode(data)
    except msgspec.MsgspecError:
        status = Status(code=500, message="watch ended with an unreadable error")
    return status.error(method="GET", url=url)


class LineSplitter:
    """Cuts chunks into lines; a line that a chunk leaves unfinished waits for the next one."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without blank ones."""
        # `find` is several times as fast as `split`, which looks at byte after byte.
        end = chunk.find(b"\n")
        if end == len(chunk) - 1 and end > 0 and not self._rest:
            return [chunk[:end]]  # what a server sends at a time is one line, mostly
        lines = []
        start = 0
        while end >= 0:
            line = chunk[start:end]
            if self._rest:
                line = b"".join([*self._rest, line])
                self._rest = []
            if line:
                lines.append(line)
            start = end + 1
            end = chunk.find(b"\n", start)
        if start < len(chunk):
            self._rest.append(chunk[start:])
        return lines
