"""So many at a time."""

from __future__ import annotations

import asyncio

from kubesched.client.slots import Slots


async def hold(slots: Slots, log: list[str], name: str, done: asyncio.Event) -> None:
    if not slots.take():
        await slots.wait()
    try:
        log.append(name)
        await done.wait()
    finally:
        slots.give_back()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_those_who_wait_come_in_their_order() -> None:
    """One by one, as others leave; nobody overtakes them."""
    slots, log = Slots(1), list[str]()
    ends = {name: asyncio.Event() for name in "abcd"}
    tasks = [asyncio.create_task(hold(slots, log, name, ends[name])) for name in "abc"]
    await settle()
    assert log == ["a"]
    ends["a"].set()
    tasks.append(asyncio.create_task(hold(slots, log, "d", ends["d"])))
    await settle()
    assert log == ["a", "b"]
    for name in "bcd":
        ends[name].set()
    await asyncio.gather(*tasks)
    assert log == ["a", "b", "c", "d"]
    assert slots.take()
    assert not slots.take()


async def test_who_gives_up_waiting_takes_no_slot_along() -> None:
    """Neither before a slot was handed on to it, nor in the moment after."""
    slots, log = Slots(1), list[str]()
    ends = {name: asyncio.Event() for name in "abc"}
    tasks = {name: asyncio.create_task(hold(slots, log, name, ends[name])) for name in "abc"}
    await settle()
    tasks["b"].cancel()
    await settle()
    ends["a"].set()
    await asyncio.sleep(0)  # a ends, and c is handed the slot
    tasks["c"].cancel()
    await asyncio.wait(tasks.values())
    assert log == ["a"]
    assert slots.take()
