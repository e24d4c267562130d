"""The queue of keys."""

from __future__ import annotations

from kubesched.clock import VirtualClock
from kubesched.cluster.controllers.workqueue import Key, WorkQueue

A, B = Key("c", "ns", "a"), Key("c", "ns", "b")


def test_a_key_waits_once() -> None:
    """Added twice, taken once, in the order of the first addition."""
    queue = WorkQueue(VirtualClock())
    for key in (A, B, A):
        queue.add(key)
    assert queue.take_all() == [A, B]
    assert len(queue) == 0


def test_a_delayed_key_comes_when_it_is_due() -> None:
    """`release_due` lets keys through whose time has come."""
    clock = VirtualClock()
    queue = WorkQueue(clock)
    queue.add_after(A, 2.0)
    clock.tick(1.9)
    queue.release_due()
    assert queue.take_all() == []
    clock.tick(0.2)
    queue.release_due()
    assert queue.take_all() == [A]


def test_failures_in_a_row_wait_longer_and_longer() -> None:
    """Delays double until the longest; a success starts over."""
    queue = WorkQueue(VirtualClock())
    delays = [queue.failed(A) for _ in range(20)]
    assert delays[:3] == [0.005, 0.01, 0.02]
    assert delays[-1] == 60.0
    queue.succeeded(A)
    assert queue.failed(A) == 0.005


def test_the_earliest_of_several_times_counts() -> None:
    """Whoever comes early looks at everything: a later visit would find nothing new."""
    clock = VirtualClock()
    queue = WorkQueue(clock)
    for seconds in (5.0, 2.0, 9.0):
        queue.add_after(A, seconds)
    clock.tick(2.0)
    queue.release_due()
    assert queue.take_all() == [A]
    clock.tick(20.0)
    queue.release_due()
    assert queue.take_all() == []
