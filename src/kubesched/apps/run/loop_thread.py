"""Where the scheduler's loop runs: in a thread of its own, so that no decision holds up the lease, health or signals.

The two loops share nothing that one changes while the other reads it, but for what is safe between threads by itself:
metrics, the fence of the lease, the log. All else is handed over, by `run` and `soon`.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

JOIN_SECONDS: Final = 5.0


class Home(Protocol):
    """A running event loop, seen from another one."""

    def start(self) -> None: ...

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this work there, and wait for its outcome here. Cancelled here, it is cancelled there."""
        ...

    def soon(self, function: Callable[..., object], *args: object) -> None:
        """Call a function there, whenever the loop comes to it."""
        ...

    def tasks(self) -> set[asyncio.Task[Any]]:
        """What runs there: to be looked at."""
        ...

    def stack(self) -> FrameType | None:
        """Where its thread is at this moment; None if that is the caller's own."""
        ...

    def stop(self) -> None:
        """End the loop."""
        ...


class LoopThread:
    """A `Home` in a thread. If it does not stop, it dies with the process."""

    def __init__(self, name: str, make_loop: Callable[[], asyncio.AbstractEventLoop] | None) -> None:
        self._loop = (make_loop or asyncio.new_event_loop)()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def soon(self, function: Callable[..., object], *args: object) -> None:
        self._loop.call_soon_threadsafe(function, *args)

    def tasks(self) -> set[asyncio.Task[Any]]:
        return asyncio.all_tasks(self._loop)

    def stack(self) -> FrameType | None:
        return sys._current_frames().get(self._thread.ident or 0)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


class SameLoop:
    """A `Home` that is the caller's own loop: for a world in which everything runs on one."""

    def start(self) -> None: ...

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.get_running_loop().create_task(work)

    def soon(self, function: Callable[..., object], *args: object) -> None:
        asyncio.get_running_loop().call_soon(function, *args)

    def tasks(self) -> set[asyncio.Task[Any]]:
        return set()  # its tasks are the caller's own

    def stack(self) -> FrameType | None:
        return None

    def stop(self) -> None: ...
