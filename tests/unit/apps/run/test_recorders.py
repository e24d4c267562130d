"""Who reports an event."""

from __future__ import annotations

from random import Random

from kubesched.apps.run.recorders import ProfileRecorders
from kubesched.client.recorder import GATHER_SECONDS
from kubesched.client.rest import RestClient
from kubesched.clock import VirtualClock
from kubesched.scheduler.framework import EventRecorder
from kubesched.testing import make_pod
from kubesched.testing.fake_api_server import FakeApiServer


def fits_the_framework(recorders: ProfileRecorders) -> EventRecorder:
    """Checked by the type checker."""
    return recorders


async def test_events_are_reported_in_the_name_of_the_pods_scheduler() -> None:
    """Of the preemptor's for a victim."""
    server, clock = FakeApiServer(), VirtualClock()
    rest = RestClient(server, clock, Random(1))
    recorders = ProfileRecorders(rest, clock, Random(1), scheduler_names=["first", "second"], hostname="host")
    recorders.start()
    ours, theirs = make_pod("ours", scheduler="first"), make_pod("theirs", scheduler="second")
    recorders.event(theirs, "Normal", "Scheduled", "Binding", "…")
    recorders.event(theirs, "Normal", "Preempted", "Preempting", "…", related=ours, reporter="first")
    await clock.advance(0)
    await clock.advance(GATHER_SECONDS)
    await recorders.stop(grace=0)
    events = [call.body for call in server.calls_of("POST", "events")]
    assert {(event["reason"], event["reportingController"]) for event in events} == {
        ("Scheduled", "second"),
        ("Preempted", "first"),
    }
