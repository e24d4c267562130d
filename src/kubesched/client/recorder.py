"""Events about pods and nodes (events.k8s.io/v1), as client-go's tools/events records them.

`event` never waits and never fails: an event goes into a bounded queue, or is dropped and counted. Equal events
become one with a series: the second one is written at once, the count of later ones with the next refresh.
This recorder has no spam filter; that one belongs to the older core/v1 recorder.
"""

from __future__ import annotations

import asyncio
import random
import re
import uuid
from collections import OrderedDict
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

from kubesched.client.backlog import Backlog
from kubesched.client.backoff import jittered
from kubesched.client.paths import collection_path, object_path
from kubesched.client.rest import STRATEGIC_MERGE, ApiObject, RestClient, manifest_json
from kubesched.clock import Clock
from kubesched.errors import ApiStatusError, ClientError
from kubesched.objects import KIND_OF, Event, EventSeries, ObjectMeta, ObjectReference, encode
from kubesched.telemetry.logging import log

# event_broadcaster.go
MOST_TRIES: Final = 12
RETRY_DELAY: Final = 10.0
FINISH_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
# Ours: upstream writes every event in a goroutine of its own, and both they and its memory know no bound.
QUEUE_LENGTH: Final = 10_000
WRITERS: Final = 50
MOST_REMEMBERED: Final = 10_000

NOTE_LIMIT: Final = 1024
_NOTE_SUFFIX: Final = " ..."
_DNS_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME: Final = 253
_EVENT: Final = KIND_OF[Event]

_Key = tuple[str, str, str, ObjectReference, ObjectReference | None]


class _Remembered:
    """An event that equal ones may join, and when the last one did."""

    __slots__ = ("count", "event", "last_observed")

    def __init__(self, event: Event, observed: float) -> None:
        self.event = event
        self.count = 1
        self.last_observed = observed

    def snapshot(self) -> Event:
        if self.count == 1:
            return self.event
        series = EventSeries(count=self.count, last_observed_time=_micro_time(self.last_observed))
        return msgspec.structs.replace(self.event, series=series)


class EventRecorder:
    """Records on behalf of one reporting controller (a scheduler name). `start` the writers first."""

    def __init__(
        self, rest: RestClient, clock: Clock, rng: random.Random, *, reporting_controller: str, hostname: str
    ) -> None:
        self._rest = rest
        self._clock = clock
        self._rng = rng
        self._controller = reporting_controller
        self._instance = f"{reporting_controller}-{hostname}"
        # Ordered: the front of a plain dict gets slower to find with everything that is taken from there.
        self._remembered: OrderedDict[_Key, _Remembered] = OrderedDict()
        self._queue: Backlog[Event] = Backlog(QUEUE_LENGTH)
        self._tasks: list[asyncio.Task[None]] = []
        self._last_stamp = 0
        self.dropped = 0
        """Events that found the queue full, or could not be written."""

    def event(
        self,
        regarding: ApiObject | ObjectReference,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *,
        related: ApiObject | ObjectReference | None = None,
    ) -> None:
        """Tell that something happened to `regarding`, with `related` playing a part in it."""
        about = reference_to(regarding)
        also = reference_to(related) if related is not None else None
        now = self._clock.time()
        key = (event_type, action, reason, about, also)
        known = self._remembered.get(key)
        if known is not None:
            known.count += 1
            known.last_observed = now
            if known.count == 2:
                self._enqueue(known.snapshot())
            return
        event = Event(
            metadata=ObjectMeta(name=self._name(about.name, now), namespace=about.namespace or "default"),
            event_time=_micro_time(now),
            reporting_controller=self._controller,
            reporting_instance=self._instance,
            action=action,
            reason=reason,
            regarding=about,
            related=also,
            note=truncate(note),
            type=event_type,
        )
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        self._remembered[key] = _Remembered(event, now)
        self._enqueue(event)

    def start(self) -> None:
        writers = [self._queue.work(self._write) for _ in range(WRITERS)]
        self._tasks = [asyncio.create_task(coroutine) for coroutine in (*writers, self._refresh(), self._finish())]

    async def drained(self) -> None:
        """Return when every event recorded so far is written, or given up."""
        await self._queue.drained()

    async def stop(self, *, grace: float = 0.0) -> None:
        """Give the queue `grace` seconds to empty, then stop."""
        if self._tasks and grace > 0:
            drained = asyncio.create_task(self.drained())
            timer = asyncio.create_task(self._clock.sleep(grace))
            await asyncio.wait({drained, timer}, return_when=asyncio.FIRST_COMPLETED)
            self._tasks += [drained, timer]
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    def _enqueue(self, event: Event) -> None:
        if not self._queue.put(event):
            self.dropped += 1

    async def _write(self, event: Event) -> None:
        """Write it, trying again where that may help (recordEvent)."""
        for _ in range(MOST_TRIES):
            try:
                if event.series is None or not await self._patch_series(event):
                    path = collection_path(_EVENT, event.metadata.namespace)
                    await self._rest.call("POST", path, body=manifest_json(event))
                return
            except ApiStatusError as error:
                if error.reason != "AlreadyExists":
                    self.dropped += 1
                    log.error("Server rejected event (will not retry!)", error, event=event)
                    return
                if event.series is None:
                    return
                # Its creation and its series crossed: the patch finds it now.
            except ClientError as error:
                log.error("Unable to write event (may retry after sleeping)", error)
            except Exception as error:  # a defect of ours: the writer goes on with the next event
                self.dropped += 1
                log.error("Unable to write event", error, event=event)
                return
            await self._clock.sleep(jittered(self._rng, RETRY_DELAY, 0.25))
        self.dropped += 1
        log.error("Unable to write event (retry limit exceeded!)", event=event)

    async def _patch_series(self, event: Event) -> bool:
        """False where the server does not know the event (any more)."""
        path = object_path(_EVENT, event.metadata.name, event.metadata.namespace)
        try:
            body = encode({"series": event.series})
            await self._rest.call("PATCH", path, body=body, content_type=STRATEGIC_MERGE)
        except ApiStatusError as error:
            if error.code != 404:
                raise
            return False
        return True

    async def _refresh(self) -> None:
        """Write the counts of running series, so that the server does not forget them."""
        while True:
            await self._clock.sleep(REFRESH_SECONDS)
            for known in list(self._remembered.values()):
                if known.count > 1:
                    self._enqueue(known.snapshot())

    async def _finish(self) -> None:
        """Forget events that have not been seen for a while; a series leaves its final count."""
        while True:
            await self._clock.sleep(FINISH_SECONDS)
            oldest = self._clock.time() - FINISH_SECONDS
            for key, known in list(self._remembered.items()):
                if known.last_observed < oldest:
                    del self._remembered[key]
                    if known.count > 1:
                        self._enqueue(known.snapshot())

    def _name(self, about: str, now: float) -> str:
        """`<name>.<nanoseconds in hex>`, or a UUID where that is no valid name (util.GenerateEventName)."""
        stamp = self._last_stamp = max(int(now * 1e9), self._last_stamp + 1)
        name = f"{about}.{stamp:x}"
        if len(name) <= _LONGEST_NAME and _DNS_SUBDOMAIN.fullmatch(name):
            return name
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))


def _micro_time(seconds: float) -> datetime:
    """A time that is written with all six digits, as API servers demand of a MicroTime: never on a full second."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment if moment.microsecond else moment.replace(microsecond=1)


def reference_to(value: ApiObject | ObjectReference) -> ObjectReference:
    """A reference as client-go makes them, with the version that the event speaks of."""
    if isinstance(value, ObjectReference):
        return value
    kind, metadata = KIND_OF[type(value)], value.metadata
    return ObjectReference(
        api_version=kind.api_version,
        kind=kind.name,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def truncate(note: str) -> str:
    """A note within the 1024 bytes that the API server accepts (the scheduler's truncateMessage)."""
    data = note.encode()
    if len(data) <= NOTE_LIMIT:
        return note
    return data[: NOTE_LIMIT - len(_NOTE_SUFFIX)].decode(errors="ignore") + _NOTE_SUFFIX
