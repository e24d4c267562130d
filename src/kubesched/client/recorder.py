"""Events about pods and nodes (events.k8s.io/v1), as client-go's tools/events records them.

`event` never waits and never fails: what happened goes into a bounded list, or is dropped and counted. A moment later
all that came together is made into events (`event_memory`) and written.
This recorder has no spam filter; that one belongs to the older core/v1 recorder.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Final

import msgspec

from kubesched.client.backlog import Backlog
from kubesched.client.backoff import jittered
from kubesched.client.event_memory import EventMemory, Occurrence
from kubesched.client.paths import collection_path, object_path
from kubesched.client.rest import STRATEGIC_MERGE, ApiObject, RestClient, manifest_json
from kubesched.clock import Clock
from kubesched.errors import ApiStatusError, ClientError
from kubesched.objects import KIND_OF, Event, encode
from kubesched.objects.meta import ObjectReference
from kubesched.telemetry.logging import log

# event_broadcaster.go
MOST_TRIES: Final = 12
RETRY_DELAY: Final = 10.0
FINISH_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
# Ours: upstream writes every event in a goroutine of its own, and they know no bound.
QUEUE_LENGTH: Final = 10_000
# Ours: one by one, between the answers of a server, making events has left the processor's caches.
GATHER_SECONDS: Final = 0.02
WRITERS: Final = 50
_EVENT: Final = KIND_OF[Event]


class _Outgoing(msgspec.Struct, frozen=True, gc=False):
    """An event on its way to the server, in JSON already."""

    event: Event
    body: bytes


class EventRecorder:
    """Records on behalf of one reporting controller (a scheduler name). `start` the writers first."""

    def __init__(
        self, rest: RestClient, clock: Clock, rng: random.Random, *, reporting_controller: str, hostname: str
    ) -> None:
        self._rest = rest
        self._clock = clock
        self._rng = rng
        self._memory = EventMemory(rng, reporting_controller=reporting_controller, hostname=hostname, kind_of=rest.kind)
        self._occurrences: list[Occurrence] = []
        self._occurred = asyncio.Event()
        self._queue: Backlog[_Outgoing] = Backlog(QUEUE_LENGTH)
        self._tasks: list[asyncio.Task[None]] = []
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
        """Report that something happened to `regarding`, with `related` playing a part in it."""
        occurrences = self._occurrences
        if len(occurrences) >= QUEUE_LENGTH:
            self.dropped += 1
            return
        if not occurrences:
            self._occurred.set()
        occurrences.append(Occurrence(self._clock.time(), regarding, event_type, reason, action, note, related))

    def start(self) -> None:
        others = (self._gather(), self._refresh(), self._finish())
        writers = [self._queue.work(self._write) for _ in range(WRITERS)]
        self._tasks = [asyncio.create_task(coroutine) for coroutine in (*writers, *others)]

    async def drained(self) -> None:
        """Return when every event recorded so far is written, or given up."""
        self._record_all()
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

    async def _gather(self) -> None:
        """Record what happened; after the first occurrence others are given a moment to join it."""
        while True:
            await self._occurred.wait()
            await self._clock.sleep(GATHER_SECONDS)
            self._record_all()

    def _record_all(self) -> None:
        occurrences, self._occurrences = self._occurrences, []
        self._occurred.clear()
        for occurrence in occurrences:
            try:
                event = self._memory.event_of(occurrence)
            except Exception as error:  # of a plugin, about something that is no object
                self._drop("Unable to record event", error, reason=occurrence.reason, note=occurrence.note)
                continue
            if event is not None:
                self._enqueue(event)

    def _enqueue(self, event: Event) -> None:
        try:
            outgoing = _Outgoing(event, manifest_json(event))
        except Exception as error:  # of a plugin, in words that cannot be written
            self._drop("Unable to write event", error, event=event)
            return
        if not self._queue.put(outgoing):
            self.dropped += 1

    def _drop(self, problem: str, error: Exception | None = None, **about: object) -> None:
        self.dropped += 1
        log.error(problem, error, **about)

    async def _write(self, outgoing: _Outgoing) -> None:
        """Write it, trying again where that may help (recordEvent)."""
        event = outgoing.event
        for _ in range(MOST_TRIES):
            try:
                if event.series is None or not await self._patch_series(event):
                    path = collection_path(_EVENT, event.metadata.namespace)
                    await self._rest.call("POST", path, body=outgoing.body, discard=True)
                return
            except ApiStatusError as error:
                if error.reason != "AlreadyExists":
                    self._drop("Server rejected event (will not retry!)", error, event=event)
                    return
                if event.series is None:
                    return
                # Its creation and its series crossed: the patch finds it now.
            except ClientError as error:
                log.error("Unable to write event (may retry after sleeping)", error)
            except Exception as error:  # a defect of ours: the writer goes on with the next event
                self._drop("Unable to write event", error, event=event)
                return
            await self._clock.sleep(jittered(self._rng, RETRY_DELAY, 0.25))
        self._drop("Unable to write event (retry limit exceeded!)", event=event)

    async def _patch_series(self, event: Event) -> bool:
        """False where the server does not know the event (any more)."""
        path = object_path(_EVENT, event.metadata.name, event.metadata.namespace)
        try:
            body = encode({"series": event.series})
            await self._rest.call("PATCH", path, body=body, content_type=STRATEGIC_MERGE, discard=True)
        except ApiStatusError as error:
            if error.code != 404:
                raise
            return False
        return True

    async def _refresh(self) -> None:
        """Write the counts of running series, so that the server does not forget them."""
        while True:
            await self._clock.sleep(REFRESH_SECONDS)
            for event in self._memory.running_series():
                self._enqueue(event)

    async def _finish(self) -> None:
        """Forget events that have not been seen for a while; a series leaves its final count."""
        while True:
            await self._clock.sleep(FINISH_SECONDS)
            for event in self._memory.forget(not_seen_since=self._clock.time() - FINISH_SECONDS):
                self._enqueue(event)
