"""The queue of a scheduler that decides: every place, who rejected a pod, and what wakes it."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.unit.apps.page.conftest import small_cluster, source_of

from kubesched.apps.page.policies import NO_EVENTS
from kubesched.apps.page.queue_view import QueueFilter, queue_view, waking_events
from kubesched.apps.page.source import PageSource
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.simulate.virtual_scheduler import build_virtual_scheduler
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates
from kubesched.objects.completion import completed
from kubesched.scheduler.build import Dependencies
from kubesched.testing import make_pod


async def scheduled() -> PageSource:
    """After one round of attempts: web-2 has a node, db waits, and one pod is gated."""
    api, clock = MemoryApi(), VirtualClock()
    dependencies = Dependencies(api=api, recorder=NO_EVENTS, clock=clock, random=Random(0))
    assembled = build_virtual_scheduler(None, FeatureGates.parse(""), dependencies)
    api.connect(assembled.objects, assembled.handlers)
    for obj in [*small_cluster(), make_pod("held", gates=["example.com/quota"])]:
        assembled.handlers.add(completed(obj))
    while await assembled.scheduler.schedule_pending():
        pass
    return replace(source_of([]), assembled=assembled, clock=clock, schedules=True)


def rows(view: dict[str, Any]) -> dict[str, Any]:
    return {row.pod: row for row in view["rows"]}


async def test_every_pod_has_a_place_and_a_reason() -> None:
    view = queue_view(await scheduled(), QueueFilter())
    assert view["live"] is True
    found = rows(view)
    assert found["default/db"].place == "unschedulable"
    assert found["default/db"].plugins == ("NodeResourcesFit",)
    assert "Node: added, allocatable changed" in found["default/db"].wakes
    assert found["default/db"].attempts == 1
    assert (found["default/held"].place, found["default/held"].plugins) == ("gated", ("SchedulingGates",))
    assert found["default/held"].message == "it has scheduling gates: example.com/quota"


@pytest.mark.parametrize(
    ("wanted", "pods"),
    [
        pytest.param(QueueFilter(place="gated"), {"default/held"}, id="by place"),
        pytest.param(QueueFilter(text="d"), {"default/db", "default/held"}, id="by a part of the name"),
        pytest.param(QueueFilter(namespace="elsewhere"), set(), id="by namespace"),
        pytest.param(QueueFilter(priority=0, profile="default-scheduler", text="db"), {"default/db"}, id="by all"),
    ],
)
async def test_filters(wanted: QueueFilter, pods: set[str]) -> None:
    view = queue_view(await scheduled(), wanted)
    assert set(rows(view)) == pods
    assert view["matching"] == len(pods)


async def test_every_plugin_says_what_it_waits_for() -> None:
    """Also those that register several kinds of changes at once."""
    source = await scheduled()
    plugins = source.assembled.profiles["default-scheduler"].event_hints()
    for plugin in plugins:
        assert all(waking_events(source, "default-scheduler", [plugin]))
    assert waking_events(source, "unknown", plugins) == ()
