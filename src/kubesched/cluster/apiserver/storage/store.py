"""All objects, by resource, under one resourceVersion.

A write takes effect at once for later writes, so that optimistic concurrency needs no lock. Watchers and callers learn
of it when it is durable: at once in memory, after the journal's commit otherwise. `settled` is that moment; whoever
answers over the wire waits for it, also after reading, so that nothing is ever shown that a crash could take back.
"""

from __future__ import annotations

import asyncio
import sqlite3
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from kubesched.cluster.apiserver.storage.entry import Change, ChangeType, Entry
from kubesched.cluster.apiserver.storage.history import History
from kubesched.cluster.apiserver.storage.journal import Journal, Row
from kubesched.objects.base import Json

DEFAULT_HISTORY: Final = 8192
_encode = msgspec.json.Encoder().encode
FieldReader = Callable[[Json], Mapping[str, str]]


class Bucket:
    """The objects of one resource. `read_fields` extracts what its field selectors can ask for."""

    def __init__(self, name: str, read_fields: FieldReader, history: History) -> None:
        self.name = name
        self.read_fields = read_fields
        self.history = history
        self.entries: dict[tuple[str, str], Entry] = {}
        self.unsettled: deque[Change] = deque()  # in effect, but not yet durable: not in the history
        self._sorted: list[tuple[str, str]] | None = []

    def get(self, namespace: str, name: str) -> Entry | None:
        return self.entries.get((namespace, name))

    def put(self, entry: Entry) -> None:
        if entry.key not in self.entries:
            self._sorted = None
        self.entries[entry.key] = entry

    def remove(self, key: tuple[str, str]) -> None:
        del self.entries[key]
        self._sorted = None

    def in_order(self, namespace: str = "") -> list[Entry]:
        """The entries by namespace and name: of one namespace, or all of them."""
        if self._sorted is None:
            self._sorted = sorted(self.entries)
        keys = self._sorted
        if namespace:
            keys = keys[bisect_left(keys, (namespace, "")) : bisect_left(keys, (namespace + "\0", ""))]
        return [self.entries[key] for key in keys]

    def in_order_at(self, version: int, namespace: str = "") -> list[Entry]:
        """The entries as they were at `version`, by undoing what the history has since; CompactedError if it cannot."""
        changes = [*self.history.read(self.history.position_after(version)), *self.unsettled]
        if not changes:
            return self.in_order(namespace)
        state = dict(self.entries)
        for change in reversed(changes):
            if change.previous is None:
                state.pop(change.entry.key, None)
            else:
                state[change.previous.key] = change.previous
        return [state[key] for key in sorted(state) if not namespace or key[0] == namespace]


class Store:
    def __init__(self, *, journal: Journal | None = None, history: int = DEFAULT_HISTORY) -> None:
        self.version = 1
        self._journal = journal
        self._history = history
        self._buckets: dict[str, Bucket] = {}
        self._loaded: dict[str, list[Row]] = {}
        self._unsettled: list[tuple[Bucket, Change]] = []
        self._flush: asyncio.Task[None] | None = None
        self._settled_version = 0
        self._failure: OSError | None = None
        if journal is not None:
            version, rows = journal.load()
            self.version = max(version, 1)
            for row in rows:
                self._loaded.setdefault(row.bucket, []).append(row)

    @property
    def published(self) -> int:
        """The version up to which watchers have been told everything."""
        return self.version if self._flush is None and not self.failed else self._settled_version

    @property
    def failed(self) -> bool:
        """Whether the disk refused a write; nothing is acknowledged any more."""
        return self._failure is not None

    def bucket(self, name: str, read_fields: FieldReader) -> Bucket:
        """The bucket of that name, made (and filled from the journal) on first use."""
        if name not in self._buckets:
            bucket = Bucket(name, read_fields, History(self._history, self.version))
            for row in self._loaded.pop(name, ()):
                assert row.raw is not None
                bucket.put(_entry(row.raw, msgspec.json.decode(row.raw, type=Json), row.version, bucket))
            self._buckets[name] = bucket
        return self._buckets[name]

    def write(self, bucket: Bucket, value: Json) -> Entry:
        """Create or replace the object of that namespace and name. `value` gets its new resourceVersion."""
        entry = self.encode(bucket, value, self.version + 1)
        self.version += 1
        previous = bucket.entries.get(entry.key)
        bucket.put(entry)
        kind = ChangeType.ADDED if previous is None else ChangeType.MODIFIED
        self._record(bucket, Change(kind, entry, previous))
        return entry

    def remove(self, bucket: Bucket, value: Json) -> Entry:
        """Remove the object; `value` is its last state and gets the deletion's resourceVersion."""
        entry = self.encode(bucket, value, self.version + 1)
        self.version += 1
        previous = bucket.entries[entry.key]
        bucket.remove(entry.key)
        self._record(bucket, Change(ChangeType.DELETED, entry, previous))
        return entry

    def encode(self, bucket: Bucket, value: Json, version: int) -> Entry:
        """What would be stored for `value` at that version."""
        value["metadata"]["resourceVersion"] = str(version)
        return _entry(_encode(value), value, version, bucket)

    def preview(self, bucket: Bucket, value: Json) -> Entry:
        """What a creation would store; it has no version."""
        return _entry(_encode(value), value, 0, bucket)

    async def settled(self) -> None:
        """Return when all writes made so far are durable and published."""
        wanted = self.version
        while self._flush is not None and self._settled_version < wanted:
            await asyncio.shield(self._flush)
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        """Raises OSError if not all writes became durable; it is closed all the same."""
        try:
            await self.settled()
        finally:
            if self._journal is not None:
                self._journal.close()

    def _record(self, bucket: Bucket, change: Change) -> None:
        if self._journal is None:
            bucket.history.append(change)
            return
        self._unsettled.append((bucket, change))
        bucket.unsettled.append(change)
        if self._flush is None and not self.failed:  # a disk that has room again must not get what comes after a gap
            self._flush = asyncio.get_running_loop().create_task(self._flush_one(self._journal))

    async def _flush_one(self, journal: Journal) -> None:
        batch, self._unsettled = self._unsettled, []
        try:
            await journal.commit([_row(bucket, change) for bucket, change in batch])
        except OSError as error:
            self._failure = error  # memory is ahead of the disk from here on: nothing may be acknowledged any more
        except sqlite3.Error as error:
            self._failure = OSError(f"cannot write to the data directory: {error}")
        if self._failure is not None:
            self._flush = None
            return
        self._settled_version = batch[-1][1].version
        for bucket, change in batch:
            bucket.unsettled.popleft()
            bucket.history.append(change)
        # Only now: a listener of the history may write, and that write is part of the next batch, not of another one.
        self._flush = asyncio.get_running_loop().create_task(self._flush_one(journal)) if self._unsettled else None


def _entry(raw: bytes, value: Json, version: int, bucket: Bucket) -> Entry:
    metadata = value["metadata"]
    return Entry(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        version=version,
        raw=raw,
        labels=metadata.get("labels") or {},
        fields=bucket.read_fields(value),
    )


def _row(bucket: Bucket, change: Change) -> Row:
    entry = change.entry
    raw = None if change.type is ChangeType.DELETED else entry.raw
    return Row(bucket.name, entry.namespace, entry.name, entry.version, raw)
