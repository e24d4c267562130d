"""A simulation of the cluster as it was last seen. Whatever a page asks ("why?", "what if?") is tried here.

The scheduler's own tables are not touched: what it decides never depends on who looks. Objects are shared, not copied,
and only those that have changed since the last question are taken over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from kubesched.apps.page.source import PageSource
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import KubeschedError
from kubesched.objects import Pod
from kubesched.scheduler.columns.journal import EVERYTHING, Follower

T = TypeVar("T")

MOST_QUESTIONS: Final = 16
"""That wait at a time; whoever asks then is told to come back."""


_News = tuple[type, str, Any]
"""Kind, `namespace/name`, and the object, or None if it is gone."""


class BusyError(KubeschedError):
    """Too many questions wait already."""


class Mirror:
    """Answers one question at a time, in a thread of its own, on the state at the time of asking."""

    def __init__(self, source: PageSource) -> None:
        self._source = source
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="page")
        self._simulation: Simulation | None = None
        self._policy: object = self
        """The version that the last look found; at first, none."""
        self._followers: dict[type, Follower[str]] = {}
        self._keys: dict[type, set[str]] = {}
        """Of what was there at the last look, by kind."""
        self._unread: SimpleQueue[list[_News] | Callable[[], Simulation]] = SimpleQueue()
        """What each look found and the simulation does not know yet; put in by one thread, read by the other.

        After a reload, it is what makes a new simulation, and then all that there is.
        """
        self._uids: dict[type, dict[str, str]] = {}
        """Of what the simulation knows."""
        self._waiting = 0
        self._is_over = False

    async def ask(self, question: Callable[[Simulation], T]) -> T:
        """The answer to a question, which must leave the simulation as it was (`Simulation.branch`)."""
        if self._waiting >= MOST_QUESTIONS:
            raise BusyError("too many questions are waiting for an answer: try again in a moment")
        self._waiting += 1
        try:
            await self._source.read(self._look)
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Questions that still wait get no answer."""
        self._is_over = True
        self._thread.submit(self._end)
        self._thread.shutdown(wait=False)

    def _end(self) -> None:
        if self._simulation is not None:
            self._simulation.close()

    def _look(self) -> None:
        """Hand over what has changed since the last look."""
        if self._source.policy.version() is not self._policy:
            self._policy = self._source.policy.version()
            self._followers.clear()
            self._keys.clear()
            self._unread.put(self._source.policy.simulation)
        news: list[_News] = []
        for kind, store in self._source.assembled.objects.by_kind():
            follower = self._followers.get(kind)
            if follower is None:
                follower = self._followers[kind] = Follower(store.changes)
            changed = follower.changed()
            if not changed:
                continue
            keys = self._keys.setdefault(kind, set())
            if changed is EVERYTHING:
                changed = [*keys, *(obj.metadata.key for obj in store)]
            found = [(kind, key, store.get(key)) for key in dict.fromkeys(changed)]
            keys.difference_update(key for _, key, obj in found if obj is None)
            keys.update(key for _, key, obj in found if obj is not None)
            news += found
        if news:
            self._unread.put(news)

    def _answer(self, question: Callable[[Simulation], T]) -> T:
        if self._is_over:
            raise BusyError("the page is closing")
        while not self._unread.empty():
            news = self._unread.get()
            if not isinstance(news, list):
                self._end()
                self._simulation = news()
                self._uids.clear()
            elif self._simulation is not None:
                self._catch_up(self._simulation, news)
        assert self._simulation is not None, "the first look makes it"
        return question(self._simulation)

    def _catch_up(self, simulation: Simulation, news: list[_News]) -> None:
        # Pods come last and go first, as they refer to the others.
        for kind, key, obj in sorted(news, key=_order):
            uids = self._uids.setdefault(kind, {})
            uid = obj.metadata.uid if obj is not None else ""
            if key in uids and (obj is None or uids[key] != uid):
                known: Any = simulation.get(kind, key)
                simulation.remove(known)
                del uids[key]
            if obj is not None:
                simulation.add(obj)
                uids[key] = uid


def _order(one: _News) -> tuple[bool, bool]:
    kind, _, obj = one
    return (True, kind is Pod) if obj is not None else (False, kind is not Pod)
