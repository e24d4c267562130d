"""Watch: the changes of a resource from some version on, filtered by selectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.options import WatchOptions
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.storage import Change, ChangeType, CompactedError, Entry, Store
from kubesched.cluster.apiserver.verbs.reading import parse_version
from kubesched.errors import RequestRefusedError


class WatchEvent(NamedTuple):
    """A change as a watcher sees it: an object that begins to match is added, one that stops matching is deleted."""

    type: ChangeType
    change: Change


class WatchPosition(NamedTuple):
    """How far a watcher has read: a position in the history, and the version up to which it knows everything."""

    position: int
    version: int


class Watch:
    """One watcher. `initial` is what it gets first; `read` gives what happened since it was last called.

    Watches of one resource with the same `interest` read the same from the same `place`.
    """

    def __init__(self, store: Store, resource: Resource, namespace: str, options: WatchOptions) -> None:
        bucket = store.bucket(resource.bucket_name, resource.read_fields)
        self.resource = resource
        self.options = options
        self.interest = (namespace, options.labels, options.fields)
        self._history = bucket.history
        wanted = _start_version(options.version)
        self.starts_with_state = options.send_initial if options.send_initial is not None else not wanted
        self.initial: list[Entry] = []
        if self.starts_with_state:
            self.initial = [entry for entry in bucket.in_order(namespace) if self._matches(entry)]
            self.place = WatchPosition(self._history.end, store.version)
        else:
            try:
                self.place = WatchPosition(self._history.position_after(wanted), wanted)
            except CompactedError as error:
                raise status.expired(str(error)) from error
        self._selects = bool(namespace or options.labels.requirements or options.fields.requirements)

    def read(self) -> list[WatchEvent]:
        """What happened since. CompactedError: the watcher was too slow and has to start again."""
        position, version = self.place
        changes = self._history.read(position)
        if not changes:
            return []
        self.place = WatchPosition(position + len(changes), max(version, changes[-1].version))
        if changes[0].version <= version:
            # With a journal, the initial state is ahead of the published history: it must not be shown again.
            changes = [change for change in changes if change.version > version]
        if not self._selects:
            return [WatchEvent(change.type, change) for change in changes]
        seen = []
        for change in changes:
            kind = self._kind_for(change)
            if kind is not None:
                seen.append(WatchEvent(kind, change))
        return seen

    def listen(self, notify: Callable[[], None]) -> Callable[[], None]:
        return self._history.listen(notify)

    @property
    def version(self) -> int:
        return self.place.version

    @property
    def end(self) -> int:
        """The position up to which `read` would read now."""
        return self._history.end

    async def changes(self) -> AsyncIterator[WatchEvent]:
        """For watchers in this process: each change as it happens."""
        woken = asyncio.Event()
        stop = self.listen(woken.set)
        try:
            while True:
                for seen in self.read():
                    yield seen
                await woken.wait()
                woken.clear()
        finally:
            stop()

    def _kind_for(self, change: Change) -> ChangeType | None:
        now = change.type is not ChangeType.DELETED and self._matches(change.entry)
        before = change.previous is not None and self._matches(change.previous)
        if now:
            return ChangeType.MODIFIED if before else ChangeType.ADDED
        return ChangeType.DELETED if before else None

    def _matches(self, entry: Entry) -> bool:
        namespace, labels, fields = self.interest
        if namespace and entry.namespace != namespace:
            return False
        return labels.matches(entry.labels) and fields.matches(entry.fields)


def _start_version(text: str) -> int:
    """As upstream, a watch answers a version that is none with an internal error, a list with a bad request."""
    try:
        return parse_version(text)
    except RequestRefusedError as refusal:
        raise RequestRefusedError(500, "", refusal.message) from refusal
