"""Events do not stay for ever."""

from __future__ import annotations

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.verbs.expiry import EventExpiry


def test_events_go_an_hour_after_their_last_write(api: Api, clock: VirtualClock) -> None:
    """One that is written again stays for another hour; other kinds stay."""
    events = api.catalog.named("events")
    expiry = EventExpiry(api.store, clock, events, lifetime=600)
    involved = {"kind": "Pod", "name": "p"}
    for name in ("old", "renewed"):
        api.create(events, {"metadata": {"name": name}, "involvedObject": involved}, "default")
    expiry.sweep()
    clock.tick(300)
    api.change(events, "renewed", "default", lambda event: event | {"count": 2})
    expiry.sweep()
    clock.tick(300)
    expiry.sweep()
    assert [entry.name for entry in api.list(events).entries] == ["renewed"]
    clock.tick(300)
    expiry.sweep()
    assert (len(api.list(events).entries), len(api.list(api.catalog.named("namespaces")).entries)) == (0, 4)
