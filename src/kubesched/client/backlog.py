"""Work that waits for one of several workers: asyncio's Queue with `join`, at a third of its price."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


class Backlog(Generic[T]):
    """At most `most` items, taken in their order by whoever runs `work`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: deque[T] = deque()
        self._idle: list[asyncio.Future[None]] = []
        self._unfinished = 0
        self._finished = asyncio.Event()
        self._finished.set()

    def put(self, item: T) -> bool:
        """Never waits; False if the item found no room."""
        if len(self._items) >= self._most:
            return False
        self._items.append(item)
        if not self._unfinished:
            self._finished.clear()
        self._unfinished += 1
        while self._idle:
            woken = self._idle.pop()
            if not woken.done():
                woken.set_result(None)
                break
        return True

    async def work(self, do: Callable[[T], Awaitable[None]]) -> NoReturn:
        """Do item after item, until cancelled. Any number of workers may be at it; what `do` raises ends one."""
        while True:
            while self._items:
                try:
                    await do(self._items.popleft())
                finally:
                    self._unfinished -= 1
                    if not self._unfinished:
                        self._finished.set()
            woken = asyncio.get_running_loop().create_future()
            self._idle.append(woken)
            await woken

    async def drained(self) -> None:
        """Return when no item waits and none is being worked on."""
        await self._finished.wait()
