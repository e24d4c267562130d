"""What is remembered for pods in flight."""

from __future__ import annotations

from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import Action, ClusterEvent, QueuedPod, Resource
from kubesched.scheduler.state.queue.in_flight import InFlight
from kubesched.testing.builders import make_pod

TEMPLATES = ClusterTables().templates
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)


def start(in_flight: InFlight, name: str) -> str:
    queued = QueuedPod(TEMPLATES.info(make_pod(name, uid=name)))
    in_flight.start(queued)
    return name


def seen_by(in_flight: InFlight, uid: str) -> list[int] | None:
    events = in_flight.events_since_start(uid)
    return None if events is None else [new for _, _, new in events]


def test_a_pod_sees_what_happened_since_it_started() -> None:
    """And nothing from before."""
    in_flight = InFlight()
    in_flight.record(NODE_ADD, None, 0)
    start(in_flight, "a")
    in_flight.record(NODE_ADD, None, 1)
    start(in_flight, "b")
    in_flight.record(NODE_ADD, None, 2)
    assert seen_by(in_flight, "a") == [1, 2]
    assert seen_by(in_flight, "b") == [2]
    assert seen_by(in_flight, "c") is None


def test_events_are_kept_for_the_oldest_pod_only() -> None:
    """Memory is bounded by it: what no pod in flight needs is forgotten."""
    in_flight = InFlight()
    for number, name in enumerate("abc"):
        start(in_flight, name)
        in_flight.record(NODE_ADD, None, number)
    assert in_flight.counts() == {"PodPopped": 3, "NodeAdd": 3}
    assert in_flight.done("b")
    assert in_flight.counts() == {"PodPopped": 2, "NodeAdd": 3}
    assert in_flight.done("a")
    assert in_flight.counts() == {"PodPopped": 1, "NodeAdd": 1}
    assert seen_by(in_flight, "c") == [2]
    in_flight.record(NODE_ADD, None, 3)
    assert seen_by(in_flight, "c") == [2, 3]
    assert in_flight.done("c")
    assert in_flight.counts() == {}
    assert not in_flight.done("c")


def test_pods_that_started_together_share_the_log() -> None:
    """The first of them to leave must not take the events along."""
    in_flight = InFlight()
    start(in_flight, "a")
    start(in_flight, "b")
    in_flight.record(NODE_ADD, None, 1)
    in_flight.done("a")
    assert seen_by(in_flight, "b") == [1]
    assert [queued.uid for queued in in_flight] == ["b"]
    assert ("b" in in_flight, "a" in in_flight, len(in_flight)) == (True, False, 1)
