"""A watch's bytes to events: lines, and what the first look at each of them tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from kubesched.client.transport import Status
from kubesched.errors import ApiStatusError, TransportError

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: its type, and the object not decoded yet."""

    type: str
    object: msgspec.Raw


class PartialMeta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PartialObject(msgspec.Struct, frozen=True, gc=False):
    """As much of an object as bookmarks have, and as an unreadable one still tells."""

    metadata: PartialMeta = PartialMeta()


_EVENT: Final = msgspec.json.Decoder(WatchEvent)
_PARTIAL: Final = msgspec.json.Decoder(PartialObject)
_STATUS: Final = msgspec.json.Decoder(Status)


def parse_event(line: bytes) -> WatchEvent:
    """TransportError for a line that is no event: the stream is broken, not an object in it."""
    try:
        return _EVENT.decode(line)
    except msgspec.MsgspecError as error:
        raise TransportError(f"broken watch stream: {error}") from error


def parse_partial(data: msgspec.Raw) -> PartialObject:
    """An object's bare identity; msgspec's errors pass through."""
    return _PARTIAL.decode(data)


def error_of(event: WatchEvent, url: str) -> ApiStatusError:
    """What an ERROR event says: the server's Status."""
    try:
        status = _STATUS.decode(event.object)
    except msgspec.MsgspecError:
        status = Status(code=500, message="watch ended with an unreadable error")
    return status.error(method="GET", url=url)


class LineSplitter:
    """Cuts chunks into lines; a line that a chunk leaves unfinished waits for the next one."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes, without blank ones."""
        *lines, tail = chunk.split(b"\n")
        if lines and self._rest:
            self._rest.append(lines[0])
            lines[0] = b"".join(self._rest)
            self._rest = []
        if tail:
            self._rest.append(tail)
        return (line for line in lines if line)
