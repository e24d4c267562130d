"""Pods in their PreBind, which preemption may stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubesched.scheduler.framework import SUCCESS, Code, Status
from kubesched.scheduler.runtime.pods_in_pre_bind import PodInPreBind


async def ends_with(status: Status) -> Status:
    return status


async def waits() -> Status:
    await asyncio.Event().wait()
    return SUCCESS


async def is_deaf() -> Status:
    """A plugin that goes on when it is cancelled."""
    try:
        return await waits()
    except asyncio.CancelledError:
        return SUCCESS


async def gives_up() -> Status:
    """A plugin that has its own words for a cancellation."""
    try:
        return await waits()
    except asyncio.CancelledError:
        return Status.failed("gave up")


@pytest.mark.parametrize(
    ("work", "message"),
    [
        pytest.param(waits, "preempted", id="it waits"),
        pytest.param(is_deaf, "preempted", id="it does not notice"),
        pytest.param(gives_up, "gave up", id="it says why it failed"),
    ],
)
async def test_a_pod_that_is_stopped_is_not_bound(
    work: Callable[[], Coroutine[Any, Any, Status]], message: str
) -> None:
    """Whoever asks once more hears the same; the first reason holds."""
    running = PodInPreBind(asyncio.ensure_future(work()))
    await asyncio.sleep(0)
    assert running.cancel("preempted")
    assert running.cancel("preempted again")
    status = await running.outcome()
    assert (status.code, status.message) == (Code.ERROR, message)


@pytest.mark.parametrize(
    ("ended_with", "can_be_stopped"),
    [
        pytest.param(SUCCESS, False, id="it is about to be bound"),
        pytest.param(Status.failed("no volume"), True, id="it will not be bound anyway"),
    ],
)
async def test_pre_bind_has_ended_but_nobody_has_heard_of_it(ended_with: Status, can_be_stopped: bool) -> None:
    """It is too late to stop a pod whose PreBind has succeeded: somebody else must see to it."""
    work = asyncio.ensure_future(ends_with(ended_with))
    await asyncio.wait([work])
    running = PodInPreBind(work)
    assert running.cancel("preempted") is can_be_stopped
    assert await running.outcome() == ended_with


async def test_stopping_the_scheduler_stops_the_work() -> None:
    """That is no answer of PreBind."""
    work = asyncio.ensure_future(waits())
    waiter = asyncio.ensure_future(PodInPreBind(work).outcome())
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert work.cancelled()
