"""The clusters that `kubesched page` shows: a live one, which is watched, or one from files. Both are only read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Protocol

from prometheus_client import CollectorRegistry

from kubesched.apps.page.history import placements_seen
from kubesched.apps.page.policies import Policy
from kubesched.apps.page.source import PageSource
from kubesched.apps.run.clients import choose_connection
from kubesched.apps.run.informers import AccessCheck, Watches, watched_kinds
from kubesched.client.http_transport import HttpTransport
from kubesched.client.reflector import Interruptions, Reflector, ReflectorStore
from kubesched.client.rest import RestClient
from kubesched.clock import Clock, SystemClock
from kubesched.errors import ClientError, ConfigurationError
from kubesched.objects import Event
from kubesched.objects.completion import completed
from kubesched.scheduler.build import resource_features
from kubesched.telemetry.metrics import SchedulerMetrics


class EventFollower(ReflectorStore[Event], Interruptions, Protocol):
    """Who wants the events besides, and to know when the server is out of reach."""


@asynccontextmanager
async def watched_cluster(
    kubeconfig: str, policy: Policy, events: EventFollower | None = None
) -> AsyncIterator[PageSource]:
    """A live cluster: every request is a GET. Errors as `fetch_objects`, while it starts.

    Whoever may not read events gets an empty list of them.
    """
    clock, random = SystemClock(), Random()  # noqa: S311 - for jitter
    assembled = policy.tables()
    connection = choose_connection(kubeconfig, clock)
    transport = HttpTransport(connection)
    rest = RestClient(transport, clock, random)
    durations = SchedulerMetrics(CollectorRegistry()).event_handling_duration
    features = resource_features(policy.gates)
    watches = Watches(rest, clock, random, assembled.handlers, durations, features)
    following: asyncio.Task[None] | None = None
    try:
        kinds = await AccessCheck(rest, watched_kinds(policy.gates)).served_kinds_at_once()
        await watches.start(kinds)
        if events is not None:
            following = asyncio.create_task(_follow_events(rest, events, clock, random))
        yield PageSource(
            title=connection.server,
            kind="cluster",
            assembled=assembled,
            clock=clock,
            policy=policy,
            placements=placements_seen(assembled, clock),
        )
    finally:
        if following is not None:
            following.cancel()
            await asyncio.wait({following})
        await watches.stop()
        await transport.close()


async def _follow_events(rest: RestClient, events: EventFollower, clock: Clock, random: Random) -> None:
    try:
        readable = await AccessCheck(rest, ()).is_served(Event)
    except ConfigurationError:  # we may not
        readable = False
    except ClientError:  # the reflector tries again
        readable = True
    if readable:
        await Reflector(rest, Event, events, clock, random, interruptions=events).run()
    await events.replace({}, set())


def loaded_cluster(objects: Sequence[Any], title: str, policy: Policy) -> PageSource:
    """What files contain."""
    assembled = policy.tables()
    for obj in objects:
        assembled.handlers.add(completed(obj))
    return PageSource(
        title=title,
        kind="files",
        assembled=assembled,
        clock=SystemClock(),
        policy=policy,
    )
