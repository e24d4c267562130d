"""An event loop whose time jumps to the next timer when nothing is ready, and on which several processes live.

A process is a name that callbacks and tasks carry in their context. One that is paused keeps its callbacks for later,
as SIGSTOP would; one that was killed never runs any of them again, not even its `finally`. No real clock is read.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, cast

from kubesched.errors import KubeschedError

EPOCH: Final = 1_700_000_000.0
MOST_STEPS_AT_ONCE: Final = 200_000
"""In one moment of virtual time: more means that somebody asks in a loop without ever waiting."""


class StalledError(KubeschedError):
    """Nothing is left that could ever happen, or everything happens in one moment."""


class EndedError(KubeschedError):
    """Somebody has seen enough."""


class Process:
    """What runs together, is paused together and dies together."""

    def __init__(self, loop: VirtualLoop, name: str) -> None:
        self._loop = loop
        self.name = name
        self.is_alive = True
        self.is_paused = False
        self.parked: deque[asyncio.Handle] = deque()
        self.on_end: dict[Callable[[], None], None] = {}
        """Called when it dies, in their order: its connections break."""
        self._context = contextvars.copy_context()
        self._context.run(_PROCESS.set, self)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A task of this process."""
        return self._loop.create_task(work, context=self._context.copy())

    def run(self, function: Callable[..., Any], *args: object) -> Any:
        """Call a function as this process, now."""
        return self._context.copy().run(function, *args)

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False
        self._loop.take_back(self.parked)

    def kill(self) -> None:
        """From the next callback on it does nothing any more."""
        if self.is_alive:
            self.is_alive = False
            self.parked.clear()
            for function in tuple(self.on_end):
                function()


_PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


def current_process() -> Process | None:
    return _PROCESS.get()


class VirtualLoop(asyncio.BaseEventLoop):
    """Time is a number. `BaseEventLoop` keeps timers and tasks; which callback runs next is decided here."""

    _ready: deque[asyncio.Handle]

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []  # tuples: a heap of handles compares in Python
        self._timers_made = 0
        self._steps_now = 0
        self.ends_now = False
        self._kept: set[asyncio.Task[Any]] = set()  # a dead process's tasks must not be collected while others run
        self.set_task_factory(self._make_task)
        self.set_exception_handler(self._note_failure)
        self.failures: list[str] = []
        """Of tasks that nobody waited for, in the words of asyncio."""

    def time(self) -> float:
        return self._now

    def call_at(  # type: ignore[override]  # typeshed has type variables for the arguments
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers_made += 1
        heapq.heappush(self._timers, (when, self._timers_made, timer))
        return timer

    def outside(self, seconds: float, function: Callable[..., object], *args: object) -> None:
        """Call a function then on behalf of no process: what is on its way does not stop when its sender does."""
        self.call_later(seconds, function, *args, context=contextvars.Context())

    def take_back(self, parked: deque[asyncio.Handle]) -> None:
        self._ready.extend(parked)
        parked.clear()

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """There are no threads: what would run in one runs now."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _run_once(self) -> None:
        """One callback, or a jump to the next timer."""
        if not self._ready:
            self._jump()
        handle = self._ready.popleft()
        if handle.cancelled():
            return
        process: Process | None = handle._context.get(_PROCESS)  # type: ignore[attr-defined]
        if process is not None:
            if not process.is_alive:
                return
            if process.is_paused:
                process.parked.append(handle)
                return
        if self.ends_now:
            raise EndedError("ended early")
        self._steps_now += 1
        if self._steps_now > MOST_STEPS_AT_ONCE:
            raise StalledError(f"{MOST_STEPS_AT_ONCE} steps at {self._now} s: {handle}")
        handle._run()

    def _jump(self) -> None:
        """To the moment of the next timer; all timers of that moment become ready, in the order of their making."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            raise StalledError("nothing is left to happen")
        if timers[0][0] > self._now:
            self._now = timers[0][0]
            self._steps_now = 0
        while timers and timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(timers)[2])

    def _make_task(self, loop: Any, work: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **options)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard, context=_NOBODY)
        return task

    def _note_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context['message']}: {context.get('exception')!r}")

    def abandon(self) -> None:
        """The world is over: what waits is ended where it is, and what it says about that is nobody's concern."""
        self.close()
        self._timers.clear()
        for task in tuple(self._kept):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with suppress(BaseException):
                cast(Coroutine[Any, Any, Any], task.get_coro()).close()
        self._kept.clear()

    # ---- what BaseEventLoop asks of those that have sockets ----

    def _process_events(self, event_list: object) -> None: ...

    def _write_to_self(self) -> None: ...

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None: ...


_NOBODY: Final = contextvars.Context()


class ProcessClock:
    """The clock of one machine: it may run faster or slower than time itself, and show another time of day."""

    def __init__(self, loop: VirtualLoop, *, rate: float = 1.0, ahead: float = 0.0, booted: float = 0.0) -> None:
        self._loop = loop
        self._rate = rate
        self._ahead = ahead
        self._booted = booted

    def time(self) -> float:
        return EPOCH + self._ahead + self._rate * self._loop.time()

    def monotonic(self) -> float:
        return self._booted + self._rate * self._loop.time()

    def since_boot(self) -> float:
        return self.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) / self._rate)


def run(loop: VirtualLoop, main: Coroutine[Any, Any, Any]) -> Any:
    """Run to the end of `main`; everything else is left where it is."""
    events.set_event_loop(None)
    return loop.run_until_complete(main)
