"""Which version of a pod our last write made: what the watch shows may be older."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from kubesched.clock import Clock

REMEMBERED_SECONDS: Final = 60.0
"""A watch that lags further behind is taken for dead, and ends in a list."""
_FEWEST: Final = 1024


class _Written(NamedTuple):
    version: str
    at: float


class _Metadata(msgspec.Struct):
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _Answer(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class WrittenVersions:
    """By path. An entry is forgotten when the watch has caught up with it, or after a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._written: dict[str, _Written] = {}
        self._sweep_at = _FEWEST

    def note(self, path: str, answer: bytes) -> None:
        """The body with which the server answered a write."""
        try:
            version = msgspec.json.decode(answer, type=_Answer).metadata.resource_version
        except msgspec.MsgspecError:
            version = ""
        self._remember(path, version)

    def doubt(self, path: str) -> None:
        """A write whose outcome nobody knows."""
        self._remember(path, "")

    def newer_than(self, path: str, seen: str) -> str | None:
        """The version that the server has for all we know, if it is not the one that was `seen`; None if it is.

        Empty: there may be a newer one, and nobody knows which.
        """
        written = self._written.get(path)
        if written is None:
            return None
        is_over = written.at < self._clock.monotonic() - REMEMBERED_SECONDS
        if is_over or _has_reached(seen, written.version):
            del self._written[path]
            return None
        return written.version

    def was_read(self, path: str) -> None:
        """The object was read after all of our writes had ended."""
        self._written.pop(path, None)

    def _remember(self, path: str, version: str) -> None:
        now = self._clock.monotonic()
        self._written[path] = _Written(version, now)
        if len(self._written) >= self._sweep_at:
            oldest = now - REMEMBERED_SECONDS
            self._written = {path: written for path, written in self._written.items() if written.at > oldest}
            self._sweep_at = max(_FEWEST, 2 * len(self._written))


def _has_reached(seen: str, written: str) -> bool:
    """Versions of one kind are numbers that grow (KEP 5504)."""
    return written.isdecimal() and seen.isdecimal() and int(seen) >= int(written)
