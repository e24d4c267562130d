"""Work beside the scheduling loop: what shares a task, and what does not."""

from __future__ import annotations

import asyncio

import pytest

from kubesched.scheduler.scheduling.background_tasks import BackgroundTasks


async def test_work_that_never_waits_shares_a_task() -> None:
    """In the order in which it was started; what a work starts itself comes after it."""
    tasks = BackgroundTasks()
    done: list[int] = []

    async def work(number: int) -> None:
        done.append(number)
        if number == 2:
            tasks.start(work(9))

    for number in range(5):
        tasks.start(work(number))
    assert (len(tasks), done) == (1, [])
    await tasks.finish()
    assert done == [0, 1, 2, 3, 4, 9]


async def test_work_that_waits_holds_up_nobody() -> None:
    """Those behind it get tasks of their own, all at once."""
    tasks = BackgroundTasks()
    gates = [asyncio.Event() for _ in range(4)]
    ended: list[int] = []

    async def work(number: int) -> None:
        await gates[number].wait()
        ended.append(number)

    for number in range(4):
        tasks.start(work(number))
    await tasks.settle()
    assert len(tasks) == 4
    for number in (2, 0, 3, 1):
        gates[number].set()
        await tasks.settle()
    assert ended == [2, 0, 3, 1]
    assert not len(tasks)


async def test_a_time_limit_of_one_work_is_not_another_s() -> None:
    """A limit cancels the task that it is set in: it must hold nothing but that work."""
    tasks = BackgroundTasks()
    ended: list[str] = []
    over = asyncio.Event()

    async def limited() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await asyncio.sleep(60)
        ended.append("limited")
        over.set()

    async def patient() -> None:
        await over.wait()
        ended.append("patient")

    for work in (patient(), limited(), patient()):
        tasks.start(work)
    await tasks.finish()
    assert ended == ["limited", "patient", "patient"]


async def test_a_work_that_crashes_is_no_one_else_s_problem() -> None:
    """And what works start while they are stopped is stopped, too."""
    tasks = BackgroundTasks()
    ended: list[str] = []

    async def crash() -> None:
        raise ValueError("boom")

    async def last_will() -> None:
        await asyncio.sleep(60)

    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            tasks.start(last_will())
            ended.append("stubborn")

    tasks.start(crash())
    tasks.start(stubborn())
    await tasks.settle()
    assert len(tasks) == 1
    await tasks.stop(0)
    assert ended == ["stubborn"]
    assert len(tasks) == 0
    assert len(asyncio.all_tasks()) == 1


async def test_what_was_started_first_begins_first() -> None:
    """Also if it stood behind a work that waits: a pod's rejection is asked to be written before its later binding."""
    tasks = BackgroundTasks()
    begun: list[int] = []
    over = asyncio.Event()

    async def work(number: int) -> None:
        begun.append(number)
        await over.wait()

    for turn in range(6):
        for number in range(3):
            tasks.start(work(3 * turn + number))
        await asyncio.sleep(0)
    await tasks.settle()
    over.set()
    await tasks.finish()
    assert begun == list(range(18))
