"""Viewers get the whole state, then changes; one that does not read costs no memory and gets the whole state again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.unit.apps.page.conftest import small_cluster, source_of

from kubesched.apps.page.node_map import NodeMap
from kubesched.apps.page.updates import INTERVAL, Updates
from kubesched.clock import VirtualClock
from kubesched.testing import make_pod


def decoded(message: bytes) -> tuple[str, Any]:
    event, data = message.decode().strip().split("\n")
    return event.removeprefix("event: "), msgspec.json.decode(data.removeprefix("data: "))


async def follow(stream: AsyncIterator[bytes]) -> tuple[str, Any]:
    return decoded(await asyncio.wait_for(anext(stream), 5))


class Followed:
    """Updates of a small cluster whose time the test moves."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.source = replace(source_of(small_cluster()), clock=self.clock)
        self.updates = Updates(self.source)
        self._pods = 0

    def place(self) -> None:
        self._pods += 1
        self.source.assembled.handlers.add(make_pod(f"pod-{self._pods}", cpu="1m", node="node-2", uid=str(self._pods)))

    async def look(self) -> None:
        await asyncio.sleep(0)
        await self.clock.advance(INTERVAL)
        await asyncio.sleep(0)


async def test_state_then_changes() -> None:
    followed = Followed()
    stream = followed.updates.stream()
    kind, state = await follow(stream)
    assert (kind, state["map"]["requested"]["pods"]) == ("state", [1, 0, 0])
    followed.place()
    await followed.look()
    kind, change = await follow(stream)
    assert (kind, change["rows"], change["requested"]["pods"]) == ("change", [1], [1])
    followed.updates.close()


async def test_a_viewer_that_comes_later_takes_nothing_from_others() -> None:
    """Both know the same afterwards."""
    followed = Followed()
    first = followed.updates.stream()
    await follow(first)
    followed.place()
    second = followed.updates.stream()
    await follow(second)
    await followed.look()
    assert (await follow(first))[1]["requested"]["pods"] == [1]
    assert (await follow(second))[1]["requested"]["pods"] == [1]
    followed.updates.close()


async def test_a_slow_viewer_gets_the_whole_state_again() -> None:
    """At most one message waits for it, whatever happens; nothing is lost in the end."""
    followed = Followed()
    slow, quick = followed.updates.stream(), followed.updates.stream()
    await follow(slow)
    await follow(quick)
    for number in range(1, 6):
        followed.place()
        await followed.look()
        assert (await follow(quick))[1]["requested"]["pods"] == [number]
    kind, state = await follow(slow)
    assert (kind, state["map"]["requested"]["pods"]) == ("state", [1, 5, 0])
    followed.updates.close()


async def test_without_viewers_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    followed = Followed()
    stream = followed.updates.stream()
    await follow(stream)
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
    await followed.look()
    looks: list[NodeMap] = []
    monkeypatch.setattr(NodeMap, "advance", looks.append)
    for _ in range(5):
        await followed.look()
    assert not looks


async def test_nothing_new_is_not_sent() -> None:
    followed = Followed()
    stream = followed.updates.stream()
    await follow(stream)
    waiting = asyncio.ensure_future(anext(stream))
    for _ in range(5):
        await followed.look()
    assert not waiting.done()
    followed.updates.close()
    waiting.cancel()
