"""The virtual clock: the base of every deterministic test."""

from __future__ import annotations

import asyncio

from kubesched.clock import VirtualClock


async def test_sleepers_wake_in_order_of_their_time() -> None:
    """Advancing wakes whoever is due, earliest first, each seeing the time it asked for."""
    clock = VirtualClock(start=100.0)
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        seen.append((name, clock.time()))

    tasks = [asyncio.create_task(sleeper("late", 5)), asyncio.create_task(sleeper("early", 2))]
    await asyncio.sleep(0)
    await clock.advance(1)
    assert seen == []
    await clock.advance(10)
    assert seen == [("early", 102.0), ("late", 105.0)]
    assert clock.time() == 111.0
    await asyncio.gather(*tasks)
