"""Work that waits for workers."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from kubesched.client.backlog import Backlog


class Team:
    """Workers at one backlog; each item takes until `go_on`."""

    def __init__(self, workers: int, *, most: int = 10) -> None:
        self.backlog: Backlog[str] = Backlog(most)
        self.log: list[str] = []
        self.go_on = asyncio.Event()
        self.tasks = [asyncio.create_task(self.backlog.work(self._do)) for _ in range(workers)]

    async def _do(self, item: str) -> None:
        self.log.append(item)
        await self.go_on.wait()
        if item == "bad":
            raise ValueError(item)

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, ValueError):
                await task


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_items_are_taken_in_their_order_by_so_many_workers() -> None:
    """Idle workers begin at once, the rest waits."""
    team = Team(2)
    await settle()
    assert all(team.backlog.put(item) for item in "abc")
    await settle()
    assert team.log == ["a", "b"]
    team.go_on.set()
    await team.backlog.drained()
    assert team.log == ["a", "b", "c"]
    await team.stop()


async def test_what_was_put_before_the_workers_came_is_done() -> None:
    """The queue does not need them to be filled."""
    team = Team(1)
    team.backlog.put("early")
    team.go_on.set()
    await team.backlog.drained()
    assert team.log == ["early"]
    await team.stop()


async def test_no_more_than_there_is_room_for() -> None:
    """Items under way take no room."""
    team = Team(1, most=2)
    await settle()
    assert team.backlog.put("a")
    await settle()
    assert [team.backlog.put(item) for item in "bcd"] == [True, True, False]
    await team.stop()


async def test_drained_waits_for_what_is_under_way() -> None:
    """Taken is not done; with nothing to do it returns at once, time and again."""
    team = Team(2)
    await team.backlog.drained()
    team.backlog.put("a")
    await settle()
    drained = asyncio.create_task(team.backlog.drained())
    await settle()
    assert team.log == ["a"]
    assert not drained.done()
    team.go_on.set()
    await drained
    team.backlog.put("b")
    await team.backlog.drained()
    assert team.log == ["a", "b"]
    await team.stop()


@pytest.mark.parametrize("way", ["cancelled while idle", "by what it did"])
async def test_the_others_go_on_when_a_worker_ends(way: str) -> None:
    """An item that ended a worker counts as done, and nobody tries to wake the dead."""
    team = Team(2)
    team.go_on.set()
    await settle()
    if way == "by what it did":
        team.backlog.put("bad")
    else:
        team.tasks[1].cancel()
    await settle()
    assert sum(task.done() for task in team.tasks) == 1
    for item in "abc":
        team.backlog.put(item)
    await team.backlog.drained()
    assert team.log[-3:] == ["a", "b", "c"]
    await team.stop()
