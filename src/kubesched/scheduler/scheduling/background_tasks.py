"""Work that goes on beside the scheduling loop: bindings, and what is written to the API server.

A task of the event loop costs about as much as a decision, and much work never waits: all of it where the API server
is this process's own memory. So what is started between two turns of the loop shares one task, up to the first work
that waits. That one keeps the task; those behind it get a task each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, Final

from kubesched.telemetry.logging import log

TURNS_UNTIL_IDLE: Final = 50
"""No chain of awaits without I/O is longer than this: a task that has not ended by then waits for something."""

Work = Coroutine[Any, Any, None]


class BackgroundTasks:
    """A crash in a work is logged, never silent, and is no other's."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._fresh: deque[Work] = deque()
        self._has_spread = False

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Work) -> None:
        """Begin in one of the loop's next turns, after all that was started before it: what is written to the API
        server first is to be asked for first.
        """
        self._fresh.append(work)
        if len(self._fresh) == 1:
            self._give_task(self._run_fresh())

    async def finish(self) -> None:
        """Wait until nothing runs any more, including what was started meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def settle(self) -> None:
        """Let tasks run until they end, or wait for what no turn of the loop brings: time, or a permission."""
        idle_turns = 0
        while self._tasks and idle_turns < TURNS_UNTIL_IDLE:
            before = set(self._tasks)
            await asyncio.sleep(0)
            idle_turns = idle_turns + 1 if self._tasks == before else 0

    async def stop(self, grace: float) -> None:
        """Give the tasks `grace` seconds to end, then cancel them, and what they start while they end."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)
            await asyncio.sleep(0)  # a work that was started meanwhile is to be cancelled, not its task before it

    async def _run_fresh(self) -> None:
        if self._has_spread:  # maybe in this very turn: those behind a work that waits begin in the next
            self._has_spread = False
            await asyncio.sleep(0)
        fresh, self._fresh = self._fresh, deque()
        asyncio.get_running_loop().call_soon(self._spread, fresh)
        while fresh:
            try:
                await fresh.popleft()
            except Exception as error:
                _report(error)

    def _spread(self, works: deque[Work]) -> None:
        """A turn later: whoever is left is behind one that waits."""
        self._has_spread = bool(works)
        while works:
            self._give_task(self._guarded(works.popleft()))

    def _give_task(self, work: Work) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _guarded(work: Work) -> None:
        try:
            await work
        except Exception as error:
            _report(error)


def _report(error: Exception) -> None:
    log.error("Background task crashed", error)
