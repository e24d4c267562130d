"""Events of controllers and kubelets."""

from __future__ import annotations

import random

import pytest

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.storage import Store
from kubesched.cluster.local_events import EventWriter
from kubesched.objects.base import Json
from kubesched.objects.meta import ObjectMeta

POD = ObjectMeta(name="p", namespace="default", uid="u1")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def api(clock: VirtualClock) -> Api:
    api = Api(store=Store(), clock=clock, rng=random.Random(1))
    bootstrap(api)
    return api


def events(api: Api) -> list[Json]:
    return [entry.decode() for entry in api.list(api.catalog.named("events")).entries]


def test_equal_events_are_counted(api: Api) -> None:
    """One object with a count, not many."""
    writer = EventWriter(api, "kubelet")
    for _ in range(3):
        writer.normal("Pod", POD, "Started", "it runs")
    (event,) = events(api)
    assert event["count"] == 3
    assert event["source"] == {"component": "kubelet"}


def test_one_object_cannot_flood(api: Api, clock: VirtualClock) -> None:
    """25 at once, then one every five minutes."""
    writer = EventWriter(api, "kubelet")
    for number in range(40):
        writer.warning("Pod", POD, "Noise", f"number {number}")
    assert len(events(api)) == 25
    clock.tick(300)
    writer.warning("Pod", POD, "Noise", "later")
    assert len(events(api)) == 26


def test_all_objects_together_have_a_limit(api: Api) -> None:
    """A component's own rate."""
    writer = EventWriter(api, "kubelet", burst=10, per_second=1.0)
    for number in range(30):
        writer.normal("Pod", ObjectMeta(name=f"p{number}", namespace="default", uid=str(number)), "Started", "")
    assert len(events(api)) == 10


def test_a_refused_event_is_no_failure(api: Api) -> None:
    """An event about something in a namespace that is gone is dropped."""
    EventWriter(api, "kubelet").normal("Pod", ObjectMeta(name="p", namespace="gone", uid="u"), "Started", "")
    assert events(api) == []
