"""Keeps a local copy of one kind equal to the server's: list once, then watch for as long as the server lets us.

        ┌────────────── 410 Gone, or any other refusal ─────────────┐
        ▼                                                           │
    stream list ──(server cannot)──► paged list ──► watch ──► watch again from the last version seen
        └───────────── the same stream goes on ───────►┘

A reflector may be set to begin with a paged list, which costs less CPU time on both sides.

A broken connection does not lose its place: the watch is opened again from the last version, with backoff
while the server is away. After a list, objects that vanished in the meantime are reported as deleted.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from typing import Final, Generic, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from kubesched.client.backoff import Backoff
from kubesched.client.incoming import Unreadable, read_object
from kubesched.client.initial_list import InitialList, log_unreadable
from kubesched.client.paths import collection_path
from kubesched.client.rest import ApiObject, Items, RestClient
from kubesched.client.watch_stream import INITIAL_EVENTS_END, EventReader, LineSplitter, WatchEvent
from kubesched.clock import Clock
from kubesched.errors import ApiStatusError, ClientError, TransportError
from kubesched.telemetry.logging import log

# client-go's reflector: 800 ms … 30 s, stretched by up to 100 %; the server closes a watch after 5–10 minutes.
FIRST_DELAY: Final = 0.8
LONGEST_DELAY: Final = 30.0
SHORTEST_WATCH: Final = 300.0
TIME_LIMIT_SLACK: Final = 30.0
# Twice client-go's: fewer pages cost the server less, and decoding one still yields to the loop in between.
PAGE_SIZE: Final = 1000
# A watch that ends within a second without an event is a failure, not the end of a watch (VeryShortWatchError).
VERY_SHORT: Final = 1.0
# Objects handled in one go before the loop gets a turn: 100 × some 40 µs.
BATCH: Final = 100

T = TypeVar("T", bound=ApiObject)


class ReflectorStore(Protocol[T]):
    """Where a reflector writes to. An informer is one."""

    def expect(self, value: T) -> None:
        """An object of a list that is still coming in: `replace` will follow, with it or with something newer."""
        ...

    async def replace(self, objects: dict[str, T], unreadable: set[str]) -> None:
        """These are all objects there are. `unreadable` ones exist too, in a form that does not decode."""
        ...

    def put(self, value: T) -> None: ...

    def remove(self, key: str, final: T | None) -> None:
        """An object is gone; `final` is its last state, where that could be read."""
        ...


class Interruptions(Protocol):
    """Who wants to know when a watch was not followed: a recorder, which marks the gap."""

    def broken(self, error: Exception) -> None:
        """The watch broke off or was refused. It may be called several times before `resumed` or a `replace`."""
        ...

    def resumed(self) -> None:
        """The watch goes on from the last version seen, and nothing is lost. The next event is delivered after this."""
        ...


class Reflector(Generic[T]):
    """Lists and watches one kind into a store. `run` ends only by cancellation."""

    def __init__(
        self,
        rest: RestClient,
        struct: type[T],
        store: ReflectorStore[T],
        clock: Clock,
        rng: random.Random,
        *,
        namespace: str = "",
        field_selector: str = "",
        label_selector: str = "",
        first_list_in_pages: bool = False,
        interruptions: Interruptions | None = None,
    ) -> None:
        """`first_list_in_pages`: half the CPU time of a streamed list, here and in the server (benchmarks/sync.py).

        Lists after that are streamed all the same: they come when a server is in trouble, and it bears streams best.
        """
        self._rest = rest
        self._struct = struct
        self._store = store
        self._clock = clock
        self._rng = rng
        self._kind = rest.kind(struct)
        self._path = collection_path(self._kind, namespace)
        self._reader = EventReader(struct, self._path)
        selectors = {"fieldSelector": field_selector, "labelSelector": label_selector}
        self._selectors = {name: value for name, value in selectors.items() if value}
        self._backoff = Backoff(clock, rng, initial=FIRST_DELAY, cap=LONGEST_DELAY)
        self._server_streams_lists = True
        self._is_paging = first_list_in_pages
        self._events = 0
        self._interruptions = interruptions
        self._is_broken = False
        self.last_sync_resource_version = ""

    async def run(self) -> None:
        while True:
            try:
                await self._list_and_watch()
            except Exception as error:
                log.error("Failed to list and watch", error, type=self._kind.plural)
                self._broke(error)
            await self._clock.sleep(self._backoff.next_delay())

    async def _list_and_watch(self) -> None:
        if not self._is_paging:
            await self._stream_list()
        if self._is_paging:
            await self._list()
            self._is_paging = not self._server_streams_lists
        await self._keep_watching()

    async def _stream_list(self) -> None:
        """A list as the first events of a watch, and that watch to its end."""
        initial = InitialList(self._struct)
        try:
            await self._watch(self._watch_query(initial=True), initial)
        except ClientError as error:
            if initial.is_complete:
                log.info("Watch broke", v=1, type=self._kind.plural, err=error)
                self._broke(error)
            elif isinstance(error, ApiStatusError) and error.code in (400, 405, 422):
                log.info("No streaming list: paging", v=4, type=self._kind.plural, err=error)
                self._server_streams_lists = False
                self._is_paging = True
            else:
                raise

    async def _list(self) -> None:
        """All pages of one consistent list. A page token that expired raises 410: the next try starts over."""
        initial = InitialList(self._struct)
        page = await self._page("")
        while page.metadata.continue_:
            # The server works on the next page while we read this one.
            following = asyncio.create_task(self._page(page.metadata.continue_))
            try:
                await self._collect(initial, page)
                page = await following
            finally:
                following.cancel()
        await self._collect(initial, page)
        await self._synced(initial, page.metadata.resource_version)

    async def _page(self, token: str) -> Items:
        query = {**self._selectors, "limit": str(PAGE_SIZE), **({"continue": token} if token else {})}
        return _parse_list(await self._rest.call("GET", self._path, query=urlencode(query), retries=0))

    async def _collect(self, initial: InitialList[T], page: Items) -> None:
        for count, item in enumerate(page.items, start=1):
            if (value := initial.add(read_object(item, self._struct))) is not None:
                self._store.expect(value)
            if count % BATCH == 0:
                await asyncio.sleep(0)

    async def _keep_watching(self) -> None:
        """Watch from the last version, again and again; return when the server has forgotten it."""
        while True:
            started, events, has_failed = self._clock.monotonic(), self._events, True
            try:
                await self._watch(self._watch_query(initial=False), None)
                has_failed = False
            except ApiStatusError as error:
                self._broke(error)
                if _is_expired(error):
                    log.info("Watch closed: relisting", v=4, type=self._kind.plural, err=error)
                    return
                if error.code != 429 and error.code < 500:
                    raise
                log.info("Watch refused", v=1, type=self._kind.plural, err=error)
            except TransportError as error:
                self._broke(error)
                log.info("Watch broke", v=1, type=self._kind.plural, err=error)
            # A server in trouble may take its time to refuse: that is no reason to ask again at once.
            if self._events == events and (has_failed or self._clock.monotonic() - started < VERY_SHORT):
                await self._clock.sleep(self._backoff.next_delay())

    async def _watch(self, query: str, initial: InitialList[T] | None) -> None:
        """One watch to its end. With `initial`, its first events are a list, which ends with a marked bookmark."""
        splitter = LineSplitter()
        time_limit = 2 * SHORTEST_WATCH + TIME_LIMIT_SLACK
        async with aclosing(self._rest.watch(self._path, query=query, time_limit=time_limit)) as chunks:
            async for chunk in chunks:
                for line in splitter.feed(chunk):
                    event = self._reader.read(line)
                    self._events += 1
                    if initial is not None:
                        initial = await self._take_initial(initial, event)
                    else:
                        self._take(event)
                    if self._events % BATCH == 0:
                        await asyncio.sleep(0)
        if initial is not None:
            raise TransportError(f"watch of {self._kind.plural} ended before its initial list was complete")

    async def _take_initial(self, initial: InitialList[T], event: WatchEvent[T | Unreadable]) -> InitialList[T] | None:
        """Collect one event of a streamed list; None once the list is complete."""
        metadata = event.object.metadata
        if event.type == "BOOKMARK":
            if (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true":
                await self._synced(initial, metadata.resource_version)
                return None
        elif event.type == "DELETED":
            initial.discard(metadata.key)
        else:
            initial.add(event.object)
        return initial

    def _broke(self, error: Exception) -> None:
        self._is_broken = True
        if self._interruptions is not None:
            self._interruptions.broken(error)

    def _take(self, event: WatchEvent[T | Unreadable]) -> None:
        if self._is_broken:
            self._is_broken = False
            if self._interruptions is not None:
                self._interruptions.resumed()
        value = event.object
        if version := value.metadata.resource_version:
            self.last_sync_resource_version = version
        if event.type in ("ADDED", "MODIFIED"):
            if isinstance(value, Unreadable):
                log_unreadable(value, self._struct)
            else:
                self._store.put(value)
        elif event.type == "DELETED":
            self._store.remove(value.metadata.key, None if isinstance(value, Unreadable) else value)
        elif event.type != "BOOKMARK":
            log.warning("Unknown watch event", type=self._kind.plural, event=event.type)

    async def _synced(self, initial: InitialList[T], resource_version: str) -> None:
        await self._store.replace(initial.objects, initial.unreadable)
        self._is_broken = False
        initial.is_complete = True
        self.last_sync_resource_version = resource_version

    def _watch_query(self, *, initial: bool) -> str:
        seconds = int(SHORTEST_WATCH * (1.0 + self._rng.random()))
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds), **self._selectors}
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query["resourceVersion"] = self.last_sync_resource_version
        return urlencode(query)


def _parse_list(body: bytes) -> Items:
    try:
        return msgspec.json.decode(body, type=Items)
    except msgspec.MsgspecError as error:
        raise TransportError(f"broken list: {error}") from error


def _is_expired(error: ApiStatusError) -> bool:
    """The version that we watch from is unknown: too old, or (a restored etcd) not yet there."""
    return (
        error.code == 410 or error.reason in ("Expired", "Gone") or "Too large resource version" in error.server_message
    )
