"""An event loop for callers that have none, or that stand in the middle of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class OwnLoop:
    """Runs coroutines to their end, one after the other, in a loop of its own.

    The cells of a notebook run inside a loop, and no second one can run in that thread: there, a helper thread does it
    while the caller waits.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._helper: ThreadPoolExecutor | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._apart(lambda: self._runner.run(work))

    def close(self) -> None:
        self._apart(self._runner.close)
        if self._helper is not None:
            self._helper.shutdown()

    def _apart(self, call: Callable[[], T]) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return call()
        if self._helper is None:
            self._helper = ThreadPoolExecutor(max_workers=1, thread_name_prefix="simulation")
        return self._helper.submit(call).result()
