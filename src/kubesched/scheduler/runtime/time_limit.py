"""A limit for what plugins wait for: a call that never ends would keep its pod for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final

from kubesched.clock import Clock
from kubesched.scheduler.framework import Plugin

AWAITED: Final = ("post_filter", "pre_bind", "bind")


def limit_time(plugin: Plugin, clock: Clock) -> None:
    """Let the plugin's `async` methods end after its `time_limit`, with TimeoutError."""
    for name in AWAITED:
        method = getattr(plugin, name, None)
        if method is not None and asyncio.iscoroutinefunction(method):
            vars(plugin)[name] = _limited(method, name, plugin.time_limit, clock)


def _limited(
    method: Callable[..., Awaitable[Any]], name: str, seconds: float, clock: Clock
) -> Callable[..., Awaitable[Any]]:
    """As `asyncio.timeout` does it, by a clock that is handed in: in the caller's task, without a turn of the loop."""

    @wraps(method)
    async def call(*args: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None, "plugins are awaited in tasks"
        cancelled_before, has_expired = task.cancelling(), False

        def expire(timer: asyncio.Future[None]) -> None:
            nonlocal has_expired
            if not timer.cancelled():
                has_expired = True
                task.cancel()

        timer = asyncio.ensure_future(clock.sleep(seconds))
        timer.add_done_callback(expire)
        try:
            return await method(*args)
        except asyncio.CancelledError:
            if has_expired and task.uncancel() <= cancelled_before:
                raise TimeoutError(f"{name} has not ended within {seconds:g} seconds") from None
            raise
        finally:
            timer.remove_done_callback(expire)
            timer.cancel()

    return call
