"""A watch over HTTP: one line of JSON per event, until the time is up or the client goes.

Watchers are woken together, and the more of them there are the less often: a burst of events becomes few writes per
watcher, and those who want the same share them. A client that reads too slowly blocks only its own stream, is overtaken
by the history's compaction, and gets 410 as on a real server.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.http.answers import JSON, Send, encode
from kubesched.cluster.apiserver.http.bodies import Receive
from kubesched.cluster.apiserver.http.encoding import ResponseEncoder, event_line
from kubesched.cluster.apiserver.http.negotiation import Form
from kubesched.cluster.apiserver.storage import CompactedError, Store
from kubesched.cluster.apiserver.verbs.watching import Watch, WatchPosition

SHORTEST_DEFAULT: Final = 1800.0  # seconds; a watch without a timeout ends after one to two times this, as upstream
BOOKMARK_INTERVAL: Final = 60.0
PAUSE_PER_WATCHER: Final = 0.0002
LONGEST_PAUSE: Final = 0.02
_INITIAL_BATCH: Final = 500


class Batch(NamedTuple):
    """What watchers at one place read: the lines, and where they stand then."""

    lines: bytes
    place: WatchPosition


class WatcherGroup:
    """The watchers of one resource: woken together, at most once per pause. What they read alike is encoded once."""

    def __init__(self) -> None:
        self._woken: dict[asyncio.Event, None] = {}  # in the order in which they came
        self._scheduled = False
        self._last = 0.0
        self._batches: dict[Hashable, Batch] = {}  # of the last beat

    def join(self, event: asyncio.Event) -> Callable[[], None]:
        self._woken[event] = None
        return lambda: self._woken.pop(event, None)

    def touch(self) -> None:
        if self._scheduled or not self._woken:
            return
        self._scheduled = True
        loop = asyncio.get_running_loop()
        pause = min(LONGEST_PAUSE, PAUSE_PER_WATCHER * len(self._woken))
        wait = self._last + pause - loop.time()
        if wait > 0:
            loop.call_later(wait, self._beat)
        else:
            loop.call_soon(self._beat)

    def read(self, watch: Watch, encoder: ResponseEncoder) -> bytes:
        """What happened since the watcher last read; empty if nothing that it wants. CompactedError if it is late."""
        if encoder.form is Form.TABLE:  # its first event differs from the others
            return _lines(watch, encoder)
        key = (watch.interest, watch.place, watch.end, watch.resource.api_version, encoder.form)
        batch = self._batches.get(key)
        if batch is None:
            lines = _lines(watch, encoder)
            self._batches[key] = Batch(lines, watch.place)
            return lines
        watch.place = batch.place
        return batch.lines

    def _beat(self) -> None:
        self._scheduled = False
        self._last = asyncio.get_running_loop().time()
        self._batches.clear()
        for event in self._woken:
            event.set()


class WatchStreams:
    """Serves watches; `close` ends all of them."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store = store
        self._rng = rng
        self._groups: dict[str, WatcherGroup] = {}
        self._open: set[asyncio.Event] = set()
        self._closing = False

    def close(self) -> None:
        self._closing = True
        for event in self._open:
            event.set()

    async def serve(self, watch: Watch, encoder: ResponseEncoder, receive: Receive, send: Send) -> None:
        woken = asyncio.Event()
        gone = asyncio.ensure_future(_disconnected(receive))
        gone.add_done_callback(lambda _: woken.set())
        group = self._group(watch)
        leave = group.join(woken)
        self._open.add(woken)
        try:
            await self._store.settled()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", JSON)]})
            await self._run(watch, encoder, group, woken, gone, send)
            if not gone.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._open.discard(woken)
            leave()
            gone.cancel()

    async def _run(
        self,
        watch: Watch,
        encoder: ResponseEncoder,
        group: WatcherGroup,
        woken: asyncio.Event,
        gone: asyncio.Future[None],
        send: Send,
    ) -> None:
        loop = asyncio.get_running_loop()
        timeout = watch.options.timeout or SHORTEST_DEFAULT * (1 + self._rng.random())
        end = loop.time() + timeout
        await self._send_initial(watch, encoder, send)
        next_bookmark = loop.time() + BOOKMARK_INTERVAL
        while not (gone.done() or self._closing):
            woken.clear()
            try:
                lines = group.read(watch, encoder)
            except CompactedError as error:
                refusal = status.failure(status.expired(f"the watch was too slow: {error}"))
                await send(_chunk(event_line("ERROR", encode(refusal))))
                return
            now = loop.time()
            if watch.options.bookmarks and (now >= next_bookmark or now >= end):
                lines += encoder.bookmark(max(watch.version, self._store.published))
                next_bookmark = now + BOOKMARK_INTERVAL
            if lines:
                await send(_chunk(lines))
            if now >= end:
                return
            timer = loop.call_at(min(end, next_bookmark), woken.set)
            await woken.wait()
            timer.cancel()

    async def _send_initial(self, watch: Watch, encoder: ResponseEncoder, send: Send) -> None:
        for start in range(0, len(watch.initial), _INITIAL_BATCH):
            batch = watch.initial[start : start + _INITIAL_BATCH]
            await send(_chunk(b"".join([encoder.initial(entry) for entry in batch])))
        watch.initial = []
        if watch.options.bookmarks and watch.options.send_initial:
            await send(_chunk(encoder.bookmark(watch.version, initial_end=True)))
        else:
            await send(_chunk(b""))

    def _group(self, watch: Watch) -> WatcherGroup:
        name = watch.resource.bucket_name
        if name not in self._groups:
            group = self._groups[name] = WatcherGroup()
            watch.listen(group.touch)
        return self._groups[name]


def _lines(watch: Watch, encoder: ResponseEncoder) -> bytes:
    return b"".join([encoder.event(kind, change) for kind, change in watch.read()])


def _chunk(body: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
