"""Watches over the wire."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import MutableMapping
from typing import Any

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.http.encoding import ResponseEncoder
from kubesched.cluster.apiserver.http.negotiation import Form
from kubesched.cluster.apiserver.http.watch_streams import WatchStreams
from kubesched.cluster.apiserver.options import WatchOptions
from kubesched.objects.selectors import parse_field_selector

Message = MutableMapping[str, Any]


class Client:
    """The other end of a watch: reads when it is told to, and goes when it is told to."""

    def __init__(self, api: Api, options: WatchOptions, streams: WatchStreams | None = None) -> None:
        self.streams = streams or WatchStreams(api.store, random.Random(1))
        maps = api.catalog.named("configmaps")
        self.gone = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self.chunks: list[bytes] = []
        self.ended = False
        encoder = ResponseEncoder(maps, Form.OBJECT, "", 0.0)
        watch = api.watch(maps, "default", options)
        self.task = asyncio.create_task(self.streams.serve(watch, encoder, self._receive, self._send))

    async def _receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        if message["type"] == "http.response.body":
            self.chunks.append(message["body"])
            self.ended = not message.get("more_body")

    def events(self) -> list[tuple[str, str]]:
        lines = b"".join(self.chunks).splitlines()
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in map(json.loads, lines)]


async def settle() -> None:
    """Let the watchers read all that there is. On a busy machine, the pause may end in the turn in which they wake."""
    for pause in (0.0, 0.01, 0.0):
        await asyncio.sleep(pause)
        for _ in range(20):
            await asyncio.sleep(0)


def create(api: Api, name: str) -> None:
    api.create(api.catalog.named("configmaps"), {"metadata": {"name": name}}, "default")


async def test_state_then_changes_until_the_client_goes(api: Api) -> None:
    """And nothing stays behind."""
    create(api, "a")
    client = Client(api, WatchOptions())
    await settle()
    create(api, "b")
    await settle()
    client.gone.set()
    await client.task
    assert client.events() == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_burst_is_few_chunks(api: Api) -> None:
    """Watchers are woken once for many events."""
    client = Client(api, WatchOptions())
    await settle()
    before = len(client.chunks)
    for index in range(50):
        create(api, f"m{index}")
    await settle()
    client.gone.set()
    await client.task
    assert len(client.events()) == 50
    assert len(client.chunks) - before <= 3


async def test_watchers_share_one_encoding(api: Api) -> None:
    """Those who want the same get the same object; those who select get their own."""
    create(api, "a")  # what the first of them has read already when the others come
    streams = WatchStreams(api.store, random.Random(1))
    selecting = WatchOptions(fields=parse_field_selector("metadata.name=b"))
    alike = [Client(api, WatchOptions(version="0"), streams) for _ in range(3)]
    other = Client(api, selecting, streams)
    for name in ("b", "c"):
        await settle()
        create(api, name)
    await settle()
    assert [client.events() for client in alike] == [[("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]] * 3
    assert len({id(client.chunks[-1]) for client in alike}) == 1
    assert other.events() == [("ADDED", "b")]
    for client in [*alike, other]:
        client.gone.set()
        await client.task


async def test_a_slow_watcher_is_told_and_dropped(api: Api) -> None:
    """It holds nobody up and no memory."""
    slow, quick = Client(api, WatchOptions()), Client(api, WatchOptions())
    await settle()
    slow.reads.clear()
    create(api, "first")
    await settle()
    for index in range(300):
        create(api, f"m{index}")
        if index % 20 == 0:
            await settle()
    await settle()
    slow.reads.set()
    await slow.task
    error = json.loads(b"".join(slow.chunks).splitlines()[-1])
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert len(quick.events()) == 301
    quick.gone.set()
    await quick.task


async def test_a_watch_ends_in_time_with_a_bookmark(api: Api) -> None:
    """So that the next one can go on from there."""
    create(api, "a")
    client = Client(api, WatchOptions(bookmarks=True, timeout=0.02))
    await asyncio.wait_for(client.task, 60)
    assert client.events() == [("ADDED", "a"), ("BOOKMARK", "")]
    assert client.ended


async def test_closing_ends_all_watches(api: Api) -> None:
    """A server that stops does not wait for its clients."""
    client = Client(api, WatchOptions())
    await settle()
    client.streams.close()
    await asyncio.wait_for(client.task, 60)
    assert client.ended
