"""Asking the API server who somebody is and what they may do, and remembering the answer for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kubesched.clock import Clock

REVIEW_TIMEOUT_SECONDS: Final = 10.0
MAX_ENTRIES: Final = 4096

V = TypeVar("V")


class ReviewClient(Protocol):
    """The one thing we ask of an API client."""

    async def create(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """POST a review and return it with its status filled in; raises kubesched.errors.ClientError."""
        ...


class _Entry(NamedTuple, Generic[V]):
    expires: float
    value: V


class ReviewCache(Generic[V]):
    """Answers by question, each with its own time to live. Concurrent equal questions are asked once.

    Errors are not remembered. The oldest answers go when there are too many: strangers choose the questions.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, _Entry[V]] = {}
        self._asking: dict[str, asyncio.Task[tuple[V, float]]] = {}

    async def get(self, question: str, ask: Callable[[], Awaitable[tuple[V, float]]]) -> V:
        """The remembered answer, or that of `ask`, which returns it with its time to live in seconds."""
        entry = self._entries.get(question)
        if entry is not None and entry.expires > self._clock.monotonic():
            return entry.value
        asking = self._asking.get(question)
        if asking is None:
            asking = asyncio.ensure_future(_bounded(ask))
            self._asking[question] = asking
            asking.add_done_callback(lambda done: self._remember(question, done))
        # Shielded: one client that hangs up must not take the answer from the others.
        value, _ = await asyncio.shield(asking)
        return value

    def _remember(self, question: str, done: asyncio.Task[tuple[V, float]]) -> None:
        del self._asking[question]
        if done.cancelled() or done.exception() is not None:
            return
        value, ttl = done.result()
        self._entries.pop(question, None)
        if ttl > 0:
            self._entries[question] = _Entry(self._clock.monotonic() + ttl, value)
        while len(self._entries) > MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]


async def _bounded(ask: Callable[[], Awaitable[tuple[V, float]]]) -> tuple[V, float]:
    async with asyncio.timeout(REVIEW_TIMEOUT_SECONDS):
        return await ask()
