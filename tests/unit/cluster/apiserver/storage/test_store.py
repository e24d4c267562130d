"""Versions, snapshots and durability."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from kubesched.cluster.apiserver.storage import Bucket, ChangeType, CompactedError, Store
from kubesched.cluster.apiserver.storage.journal import Row
from kubesched.objects.base import Json


def read_fields(value: Json) -> dict[str, str]:
    return {"metadata.name": value["metadata"]["name"]}


def bucket_of(store: Store) -> Bucket:
    return store.bucket("things", read_fields)


def thing(name: str, namespace: str = "a", **more: Any) -> Json:
    return {"metadata": {"name": name, "namespace": namespace, **more}}


class SlowJournal:
    """A disk whose commits end when the test says so."""

    def __init__(self, rows: Iterable[Row] = (), version: int = 0) -> None:
        self.loaded = (version, list(rows))
        self.commits: list[list[Row]] = []
        self.gate = asyncio.Event()
        self.failure: Exception | None = None

    def load(self) -> tuple[int, Iterable[Row]]:
        return self.loaded

    async def commit(self, rows: Sequence[Row]) -> None:
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        self.commits.append(list(rows))

    def close(self) -> None: ...


def test_every_write_has_a_higher_version() -> None:
    """Over all resources, deletions included."""
    store = Store()
    bucket, other = bucket_of(store), store.bucket("others", read_fields)
    versions = [
        store.write(bucket, thing("x")).version,
        store.write(other, thing("y")).version,
        store.write(bucket, thing("x", labels={"a": "b"})).version,
        store.remove(bucket, thing("x")).version,
    ]
    assert versions == sorted(set(versions))
    assert store.version == versions[-1]


def test_an_entry_is_a_snapshot() -> None:
    """Decoding gives a copy; the stored object does not change with it."""
    store = Store()
    entry = store.write(bucket_of(store), thing("x"))
    entry.decode()["metadata"]["name"] = "changed"
    assert entry.decode()["metadata"] == {"name": "x", "namespace": "a", "resourceVersion": str(entry.version)}


def test_order_is_by_namespace_and_name() -> None:
    """And one namespace is a part of it, however similar the names."""
    store = Store()
    bucket = bucket_of(store)
    for name, namespace in (("b", "n"), ("a", "n"), ("z", "m"), ("c", "n-x"), ("a", "n0")):
        store.write(bucket, thing(name, namespace))
    assert [entry.key for entry in bucket.in_order()] == [("m", "z"), ("n", "a"), ("n", "b"), ("n-x", "c"), ("n0", "a")]
    assert [entry.name for entry in bucket.in_order("n")] == ["a", "b"]
    store.remove(bucket, thing("a", "n"))
    assert [entry.name for entry in bucket.in_order("n")] == ["b"]


def test_the_past_can_be_listed() -> None:
    """Created, changed and deleted objects are as they were."""
    store = Store()
    bucket = bucket_of(store)
    for name in ("kept", "changed", "gone"):
        store.write(bucket, thing(name))
    then = store.version
    store.write(bucket, thing("new"))
    store.write(bucket, thing("changed", labels={"a": "b"}))
    store.remove(bucket, thing("gone"))
    past = bucket.in_order_at(then)
    assert [(entry.name, entry.labels) for entry in past] == [("changed", {}), ("gone", {}), ("kept", {})]
    assert bucket.in_order_at(then, "elsewhere") == []


def test_the_far_past_is_gone() -> None:
    """Beyond the history there is nothing to undo with."""
    store = Store(history=2)
    bucket = bucket_of(store)
    for index in range(9):
        store.write(bucket, thing(f"x{index}"))
    with pytest.raises(CompactedError):
        bucket.in_order_at(2)


async def test_nothing_is_published_before_it_is_durable() -> None:
    """Watchers and callers wait for the disk; later writes see the earlier ones at once."""
    journal = SlowJournal()
    store = Store(journal=journal)
    bucket = bucket_of(store)
    store.write(bucket, thing("x"))
    waiting = asyncio.create_task(store.settled())
    await asyncio.sleep(0)
    assert (bucket.history.end, waiting.done(), bucket.get("a", "x") is not None) == (0, False, True)
    journal.gate.set()
    await waiting
    assert bucket.history.end == 1
    assert store.published == store.version


async def test_writes_during_a_commit_share_the_next_one() -> None:
    """The disk's latency bounds the delay of a write, not the number of writes."""
    journal = SlowJournal()
    store = Store(journal=journal)
    bucket = bucket_of(store)
    store.write(bucket, thing("first"))
    await asyncio.sleep(0)
    for index in range(10):
        store.write(bucket, thing(f"x{index}"))
    store.remove(bucket, thing("x3"))
    journal.gate.set()
    await store.settled()
    assert [len(rows) for rows in journal.commits] == [1, 11]
    assert [change.type for change in bucket.history.read(0)].count(ChangeType.DELETED) == 1


async def test_a_listener_may_write() -> None:
    """What somebody writes when told of a change is committed once, in the next batch."""
    journal = SlowJournal()
    journal.gate.set()
    store = Store(journal=journal)
    bucket, answers = bucket_of(store), store.bucket("answers", read_fields)

    def answer() -> None:
        store.write(answers, thing(f"answer-{bucket.history.end}"))

    bucket.history.listen(answer)
    for name in ("x", "y"):
        store.write(bucket, thing(name))
    while answers.history.end < 2:
        await store.settled()
    assert [[row.name for row in rows] for rows in journal.commits] == [["x", "y"], ["answer-1", "answer-2"]]
    assert store.published == store.version


async def test_a_failing_disk_acknowledges_nothing_more() -> None:
    """Memory is ahead of the disk: every later wait fails too."""
    journal = SlowJournal()
    journal.failure = OSError("disk full")
    journal.gate.set()
    store = Store(journal=journal)
    bucket = bucket_of(store)
    store.write(bucket, thing("x"))
    for _ in range(2):
        with pytest.raises(OSError, match="disk full"):
            await store.settled()
    assert bucket.history.end == 0


async def test_a_disk_that_recovers_gets_nothing_after_a_gap() -> None:
    """A batch failed, and there is room again: what was written later rests on what is missing."""
    journal = SlowJournal()
    journal.failure = OSError("disk full")
    journal.gate.set()
    store = Store(journal=journal)
    bucket = bucket_of(store)
    store.write(bucket, thing("lost"))
    with pytest.raises(OSError, match="disk full"):
        await store.settled()
    journal.failure = None
    store.write(bucket, thing("later"))
    with pytest.raises(OSError, match="disk full"):
        await store.settled()
    await asyncio.sleep(0)
    assert journal.commits == []


def test_a_store_starts_where_it_ended() -> None:
    """Objects and the version come from the journal; watches from before have to list anew."""
    raw = b'{"metadata":{"name":"x","namespace":"a","labels":{"l":"v"},"resourceVersion":"7"}}'
    store = Store(journal=SlowJournal([Row("things", "a", "x", 7, raw)], version=9))
    bucket = bucket_of(store)
    assert (store.version, [entry.labels for entry in bucket.in_order()]) == (9, [{"l": "v"}])
    with pytest.raises(CompactedError):
        bucket.history.position_after(8)
