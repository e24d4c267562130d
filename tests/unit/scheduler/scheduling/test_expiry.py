"""Assumed pods that are never seen bound."""

from __future__ import annotations

import asyncio
from random import Random

from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config
from kubesched.objects.completion import completed
from kubesched.scheduler.build import Dependencies, build_scheduler
from kubesched.testing import make_node, make_pod
from kubesched.testing.recording import RecordingApi, RecordingRecorder


async def test_an_assumed_pod_that_is_never_seen_bound_gives_its_room_back() -> None:
    """Thirty seconds after its binding it is forgotten, and the pod that waited for its room is tried again."""
    clock, gates = VirtualClock(), FeatureGates()
    dependencies = Dependencies(
        api=RecordingApi(), recorder=RecordingRecorder(), clock=clock, random=Random(1), assumed_ttl=30.0
    )
    scheduler = build_scheduler(default_config(gates), gates, dependencies)
    scheduler.handlers.add(make_node("n", cpu="1"))
    for name in ("first", "second"):
        scheduler.handlers.add(completed(make_pod(name, cpu="1")))
    expiry = asyncio.create_task(scheduler.scheduler.expire_assumed())
    await scheduler.scheduler.schedule_pending()
    assert (scheduler.cache.assumed_count, scheduler.cache.pod_count) == (1, 1)
    await clock.advance(29)
    assert scheduler.cache.assumed_count == 1
    await clock.advance(2)
    assert scheduler.cache.assumed_count == 0
    scheduler.queue.flush_backoff()
    assert await scheduler.scheduler.schedule_pending() == 1
    assert scheduler.cache.assumed_count == 1
    expiry.cancel()
