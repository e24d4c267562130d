"""Preemption from the pod that does not fit to the pod that is bound."""

from __future__ import annotations

from typing import Any

from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod


def test_a_pod_takes_the_place_of_less_important_ones(new_scheduler: Any) -> None:
    """Its victims are deleted, the room is held for it, and it is bound there."""
    whole = new_scheduler()
    whole.add(make_node("n0", cpu="2"), make_node("n1", cpu="2"))
    whole.add(make_pod("low", cpu="2", node="n0", priority=1), make_pod("lower", cpu="2", node="n1"))
    whole.add(make_pod("vip", cpu="2", priority=10))
    whole.schedule()
    vip = whole.find(Pod, "vip")
    assert whole.placements() == {"low": "n0"}
    assert vip.status.nominated_node_name == "n1"
    assert whole.notes("FailedScheduling")["default/vip"] == "0/2 nodes are available: 2 Insufficient cpu."
    assert list(whole.notes("Preempted")) == ["default/lower"]
    whole.add(make_pod("thief", cpu="2"))
    whole.schedule()  # the thief comes first: it is active, the other one backs off
    assert whole.placements() == {"low": "n0", "vip": "n1"}
    assert whole.notes("FailedScheduling")["default/thief"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert whole.parts.queue.in_flight_counts() == {}


def test_nobody_is_evicted_in_vain(new_scheduler: Any) -> None:
    """A pod that fits nowhere even then leaves all others alone."""
    whole = new_scheduler()
    whole.add(
        make_node("n", cpu="2"), make_pod("low", cpu="1", node="n"), make_pod("high", cpu="1", node="n", priority=99)
    )
    whole.add(make_pod("p", cpu="2", priority=10))
    whole.schedule()
    assert whole.placements() == {"low": "n", "high": "n"}
    note = whole.notes("FailedScheduling")["default/p"]
    assert note.endswith("preemption: 0/1 nodes are available: 1 Insufficient cpu.")
