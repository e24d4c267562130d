"""What changed, for every browser that looks: gathered at most a few times a second, encoded once for all.

A viewer that does not keep up misses changes and gets the whole state again once it reads: at most one message waits
for it, whatever happens in the cluster. Without viewers nothing is gathered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from kubesched.apps.page.node_map import NodeMap
from kubesched.apps.page.source import PageSource
from kubesched.telemetry.logging import log

INTERVAL: Final = 0.25
"""Seconds between looks, if these are quick."""
LONGEST: Final = 2.0
SHARE: Final = 0.006
"""Of the time that may be spent on looking: where much happens, it is looked at less often."""
HEARTBEAT: Final = 15.0
"""Seconds after which a viewer hears something though nothing happened, so that a dead connection is noticed."""
MOST_VIEWERS: Final = 256


class Viewer:
    """One browser: at most one message waits for it."""

    def __init__(self) -> None:
        self.message: bytes | None = None
        self.is_behind = True
        """It needs the whole state, not what changed."""
        self.news = asyncio.Event()

    def offer(self, message: bytes) -> None:
        if self.message is not None:
            self.message = None
            self.is_behind = True
        elif not self.is_behind:
            self.message = message
        self.news.set()


class Updates:
    """Looks at the cluster for all viewers. `start` it, then hand `stream`s to browsers."""

    def __init__(self, source: PageSource) -> None:
        self._source = source
        self._map = NodeMap(source.assembled.cache.cluster.nodes)
        self._viewers: set[Viewer] = set()
        self._encoder = msgspec.json.Encoder()
        self._whole: bytes | None = None
        self._version = 0
        self._summary: dict[str, Any] = {}
        self._looking: asyncio.Task[None] | None = None
        self._is_over = False

    @property
    def is_full(self) -> bool:
        return len(self._viewers) >= MOST_VIEWERS

    async def stream(self) -> AsyncIterator[bytes]:
        """Server-sent events for one viewer: `state` first and whenever it fell behind, else `change`."""
        viewer = Viewer()
        self._viewers.add(viewer)
        viewer.news.set()
        if self._looking is None or self._looking.done():
            await self._look_once()
            self._looking = asyncio.create_task(self._look(), name="page updates")
        try:
            while not self._is_over:
                with suppress(TimeoutError):
                    await asyncio.wait_for(viewer.news.wait(), HEARTBEAT)
                viewer.news.clear()
                if viewer.is_behind:
                    viewer.is_behind, viewer.message = False, None
                    yield await self._state()
                elif viewer.message is not None:
                    message, viewer.message = viewer.message, None
                    yield message
                else:
                    yield b": still here\n\n"
        finally:
            self._viewers.discard(viewer)

    def close(self) -> None:
        """All streams end."""
        self._is_over = True
        if self._looking is not None:
            self._looking.cancel()
        for viewer in self._viewers:
            viewer.news.set()

    async def _state(self) -> bytes:
        """The whole state as of the last look; encoded once for all who need it."""
        if self._whole is None:
            version = self._version
            state = self._event("state", await self._source.read(self._everything))
            if version != self._version:
                return state  # a later look has more: changes are told as they are now, so that none is lost
            self._whole = state
        return self._whole

    def _everything(self) -> dict[str, Any]:
        return {"map": self._map.everything(), "summary": self._summary}

    async def _look(self) -> None:
        pause = INTERVAL
        while self._viewers:
            await self._source.clock.sleep(pause)
            started = self._source.clock.monotonic()
            try:
                await self._look_once()
            except Exception as error:
                log.error("The page cannot read the cluster", error)
            pause = min(LONGEST, max(INTERVAL, (self._source.clock.monotonic() - started) / SHARE))

    async def _look_once(self) -> None:
        change = await self._source.read(self._advance)
        if change:
            self._version += 1
            self._whole = None
            message = self._event("change", change)
            for viewer in tuple(self._viewers):
                viewer.offer(message)

    def _advance(self) -> dict[str, Any]:
        change = self._map.advance()
        summary = self._summarise()
        if summary != self._summary:
            self._summary = change["summary"] = summary
        return change

    def _summarise(self) -> dict[str, Any]:
        assembled = self._source.assembled
        in_flight = len(assembled.queue.in_flight_pods()) if self._source.schedules else 0
        return {
            "queue": {str(place): count for place, count in assembled.queue.counts().items()}
            | {"in flight": in_flight},
            "totals": self._map.totals(),
            "placed": self._source.placements.count,
        }

    def _event(self, name: str, data: Any) -> bytes:
        return b"event: " + name.encode() + b"\ndata: " + self._encoder.encode(data) + b"\n\n"
