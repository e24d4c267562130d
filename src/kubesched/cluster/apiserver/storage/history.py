"""The last changes of one resource, and the places of its watchers in them.

A watcher holds a position, not a queue: one that reads too slowly is overtaken by the compaction and learns it as
`CompactedError`. Memory is bounded by the history alone, however many watchers there are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from kubesched.cluster.apiserver.storage.entry import Change
from kubesched.errors import KubeschedError


class CompactedError(KubeschedError):
    """The changes after `version` are no longer kept; `oldest` is the first version that a watch can start from."""

    def __init__(self, version: int, oldest: int) -> None:
        self.version = version
        self.oldest = oldest
        super().__init__(f"too old resource version: {version} ({oldest})")


class History:
    """Keeps at least the last `capacity` changes and at most twice as many."""

    def __init__(self, capacity: int, version: int) -> None:
        self._capacity = capacity
        self._changes: list[Change] = []
        self._dropped = 0
        self._compacted = version
        self._listeners: dict[int, Callable[[], None]] = {}
        self._next_listener = 0

    @property
    def end(self) -> int:
        """The position after the last change."""
        return self._dropped + len(self._changes)

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def append(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) >= 2 * self._capacity:
            keep_from = len(self._changes) - self._capacity
            self._compacted = self._changes[keep_from - 1].version
            del self._changes[:keep_from]
            self._dropped += keep_from
        for notify in tuple(self._listeners.values()):
            notify()

    def position_after(self, version: int) -> int:
        """Where to read on for somebody who knows the state at `version`."""
        if version < self._compacted:
            raise CompactedError(version, self._compacted)
        return self._dropped + bisect_right(self._changes, version, key=lambda change: change.version)

    def read(self, position: int) -> Sequence[Change]:
        """All changes from `position` on."""
        if position < self._dropped:
            raise CompactedError(position, self._compacted)
        return self._changes[position - self._dropped :]

    def listen(self, notify: Callable[[], None]) -> Callable[[], None]:
        """Call `notify` (which must not block or raise) after each change, until the returned function is called."""
        handle = self._next_listener
        self._next_listener += 1
        self._listeners[handle] = notify

        def stop() -> None:
            self._listeners.pop(handle, None)

        return stop
