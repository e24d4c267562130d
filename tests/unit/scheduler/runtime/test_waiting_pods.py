"""Pods that Permit plugins hold back."""

from __future__ import annotations

import asyncio

from kubesched.clock import VirtualClock
from kubesched.scheduler.framework import Code
from kubesched.scheduler.runtime.waiting_pods import WaitingPod, WaitingPods
from kubesched.testing import make_pod

POD = make_pod("web")


async def test_everybody_who_asked_for_it_must_allow_it() -> None:
    """The last one lets it go; others are not asked."""
    waiting = WaitingPod(POD, {"A": 10.0, "B": 20.0}, VirtualClock())
    waiting.allow("Stranger")
    waiting.allow("A")
    assert set(waiting.pending_plugins) == {"B"}
    waiting.allow("B")
    assert (await waiting.decision()).is_success


async def test_the_first_decision_counts() -> None:
    """Whatever comes afterwards."""
    waiting = WaitingPod(POD, {"A": 10.0}, VirtualClock())
    assert waiting.reject("A", "no")
    waiting.allow("A")
    assert not waiting.reject("B", "never")
    status = await waiting.decision()
    assert (status.code, status.plugin, status.reasons) == (Code.UNSCHEDULABLE, "A", ("no",))
    assert not waiting.preempt("C", "too late")


async def test_the_first_time_that_is_up_rejects() -> None:
    """In Go's words for durations."""
    clock = VirtualClock()
    waiting = WaitingPod(POD, {"A": 90.0, "B": 1.5}, clock)
    await asyncio.sleep(0)
    await clock.advance(2)
    assert (await waiting.decision()).message == "rejected due to timeout after waiting 1.5s at plugin B"
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1


async def test_preempting_is_an_error_not_a_rejection() -> None:
    """Nothing about the pod keeps it from another try."""
    waiting = WaitingPod(POD, {"A": 10.0}, VirtualClock())
    assert waiting.preempt("Preemption", "make room")
    assert (await waiting.decision()).code is Code.ERROR


async def test_removing_leaves_no_timer_behind() -> None:
    """Also if nothing was decided."""
    pods = WaitingPods()
    pods.add(POD, {"A": 10.0}, VirtualClock())
    assert len(pods) == 1
    assert [waiting.pod for waiting in pods] == [POD]
    await asyncio.sleep(0)
    pods.remove(POD.metadata.uid)
    pods.remove(POD.metadata.uid)
    assert pods.get(POD.metadata.uid) is None
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
