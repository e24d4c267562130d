"""/debug/pprof and /debug/flags: looking into a running scheduler.

The names are Go's, so that habits and RBAC rules carry over; the answers are Python's: stacks of tasks and threads,
a cProfile table, the largest allocations. All of it is plain text.
"""

from __future__ import annotations

import asyncio
import cProfile
import io
import pstats
import sys
import threading
import traceback
import tracemalloc
from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from kubesched.clock import Clock
from kubesched.errors import ConfigurationError
from kubesched.serving.health import NOSNIFF
from kubesched.telemetry.logging import Logger

PROFILES: Final = {
    "cmdline": "The command line invocation of the current program",
    "goroutine": "Stack traces of all current tasks and threads",
    "heap": "The places that allocated most during ?seconds=N (default 5; tracing slows the scheduler down)",
    "profile": "CPU profile of ?seconds=N (default 30; profiling slows the scheduler down), as a table by function",
}
PROFILE_LINES: Final = 80
HEAP_LINES: Final = 50
MAX_SECONDS: Final = 600.0


class SchedulerLoop(Protocol):
    """The event loop that profiles are about, seen from that of the endpoints."""

    async def run(self, work: Coroutine[Any, Any, None]) -> None: ...
    def tasks(self) -> set[asyncio.Task[Any]]: ...


class DebugPages:
    """Profiles of this process, one measurement at a time."""

    def __init__(self, clock: Clock, log: Logger, scheduler: SchedulerLoop | None = None) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._log = log
        self._measuring = False

    def routes(self) -> list[Route]:
        return [
            Route("/debug/pprof", lambda _request: RedirectResponse("/debug/pprof/", 302)),
            Route("/debug/pprof/", _index),
            Route("/debug/pprof/cmdline", lambda _request: PlainTextResponse("\x00".join(sys.argv))),
            Route("/debug/pprof/goroutine", self._stacks),
            Route("/debug/pprof/heap", self._heap),
            Route("/debug/pprof/profile", self._profile),
            Route("/debug/pprof/{name}", lambda _request: PlainTextResponse("Unknown profile\n", 404)),
            Route("/debug/flags", _flags_index),
            Route("/debug/flags/v", self._set_verbosity, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            Route("/debug/flags/{rest:path}", _flags_index),
        ]

    async def _stacks(self, _request: Request) -> Response:
        elsewhere = self._scheduler.tasks() if self._scheduler is not None else set()
        return PlainTextResponse(_all_stacks(asyncio.all_tasks() | elsewhere))

    async def _profile(self, request: Request) -> Response:
        """A cProfile of the thread that decides: where the scheduler's time goes."""
        seconds = _seconds(request, default=30.0)
        if self._measuring:
            return PlainTextResponse("Could not enable CPU profiling: cpu profiling already in use\n", 500)
        self._measuring = True
        profiler = cProfile.Profile()
        try:
            await self._there(profiler.enable)
            await self._clock.sleep(seconds)
        finally:
            await self._there(profiler.disable)
            self._measuring = False
        text = io.StringIO()
        stats = pstats.Stats(profiler, stream=text)
        stats.sort_stats("tottime").print_stats(PROFILE_LINES)
        stats.sort_stats("cumulative").print_stats(PROFILE_LINES)
        return PlainTextResponse(text.getvalue())

    async def _there(self, function: Callable[[], None]) -> None:
        async def call() -> None:
            function()

        await (self._scheduler.run(call()) if self._scheduler is not None else call())

    async def _heap(self, request: Request) -> Response:
        """What was allocated in the meantime and is still there, by source line."""
        seconds = _seconds(request, default=5.0)
        if self._measuring:
            return PlainTextResponse("Could not enable memory tracing: a measurement is already running\n", 500)
        self._measuring = True
        was_tracing = tracemalloc.is_tracing()
        tracemalloc.start()
        try:
            await self._clock.sleep(seconds)
            snapshot = tracemalloc.take_snapshot()
        finally:
            if not was_tracing:
                tracemalloc.stop()
            self._measuring = False
        top = snapshot.statistics("lineno")
        total = sum(entry.size for entry in top)
        lines = [f"{total} bytes allocated in {seconds:g} s and still there; by line:", *map(str, top[:HEAP_LINES]), ""]
        return PlainTextResponse("\n".join(lines))

    async def _set_verbosity(self, request: Request) -> Response:
        if request.method != "PUT":
            return PlainTextResponse("unsupported http method\n", 406, headers=NOSNIFF)
        text = (await request.body()).decode(errors="replace")
        try:
            if not (text.isascii() and text.isdigit()):
                raise ConfigurationError([f'strconv.ParseUint: parsing "{text}": invalid syntax'])
            self._log.verbosity = int(text)
        except ConfigurationError as error:
            return PlainTextResponse(f"{error}\n", 400, headers=NOSNIFF)
        return PlainTextResponse(f"successfully set klog.logging.verbosity to {text}\n", headers=NOSNIFF)


def _seconds(request: Request, *, default: float) -> float:
    try:
        seconds = float(request.query_params.get("seconds", default))
    except ValueError:
        return default
    return min(seconds, MAX_SECONDS) if seconds > 0 else default


def _all_stacks(running: set[asyncio.Task[Any]]) -> str:
    tasks = sorted(running, key=asyncio.Task.get_name)
    text = io.StringIO()
    text.write(f"{len(tasks)} tasks, {threading.active_count()} threads\n")
    for task in tasks:
        text.write(f"\nTask {task.get_name()}:\n")
        text.writelines(traceback.StackSummary.from_list(_awaiting(task)).format())
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        text.write(f"\nThread {names.get(ident, ident)}:\n")
        text.writelines(traceback.format_stack(frame))
    return text.getvalue()


def _awaiting(task: asyncio.Task[Any]) -> list[traceback.FrameSummary]:
    """Where each coroutine of a task waits, outermost first. (`Task.get_stack` knows the outermost only.)"""
    places = []
    waiting: object = task.get_coro()
    while isinstance(waiting, CoroutineType):
        if (frame := waiting.cr_frame) is not None:
            code = frame.f_code
            places.append(traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_qualname))
        waiting = waiting.cr_await
    return places


def _index(_request: Request) -> Response:
    lines = [f"{name:<10} {meaning}" for name, meaning in PROFILES.items()]
    return PlainTextResponse("\n".join(["/debug/pprof/", "", *lines, ""]))


def _flags_index(_request: Request) -> Response:
    return HTMLResponse(
        "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n"
        "<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n"
    )
