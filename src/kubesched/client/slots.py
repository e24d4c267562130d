"""So many at a time, in the order of their asking: asyncio's Semaphore, at a fifth of its price where nobody waits."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """Use: `if not slots.take(): await slots.wait()`, then work, and `give_back` whatever happens."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a free slot; False if there is none."""
        if not self._free:
            return False
        self._free -= 1
        return True

    async def wait(self) -> None:
        """Until somebody hands on a slot."""
        handed_on = asyncio.get_running_loop().create_future()
        self._waiting.append(handed_on)
        try:
            await handed_on
        except asyncio.CancelledError:
            if not handed_on.cancelled():
                self.give_back()
            raise

    def give_back(self) -> None:
        """Hand the slot on to who has waited longest, if anybody has."""
        while self._waiting:
            handed_on = self._waiting.popleft()
            if not handed_on.done():
                handed_on.set_result(None)
                return
        self._free += 1
