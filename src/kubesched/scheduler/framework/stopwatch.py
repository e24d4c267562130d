"""Where the time of an attempt goes: extension point by extension point, plugin by plugin.

Timing every call of every attempt would cost more than some of the calls, so one attempt in ten carries a stopwatch
(`CycleState.stopwatch`), as kube-scheduler samples its plugin metrics; in the others nothing is measured.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Protocol, TypeVar, TypeVarTuple

from kubesched.clock import Clock
from kubesched.scheduler.framework.status import Code, Status

ATTEMPTS_PER_SAMPLE: Final = 10
_SUCCESS: Final = str(Code.SUCCESS)

Args = TypeVarTuple("Args")
R = TypeVar("R")


class CallObserver(Protocol):
    """Gets the durations of the calls of sampled attempts."""

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None: ...
    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None: ...
    def evaluated(self, plugins: Iterable[str], point: str, profile: str) -> None:
        """These plugins took part in an attempt: they were asked, or earlier answers of theirs held."""
        ...


class Stopwatch:
    """Times calls on behalf of one profile. Stateless: all sampled attempts can share it."""

    __slots__ = ("_clock", "_observer", "_profile")

    def __init__(self, observer: CallObserver, clock: Clock, profile: str) -> None:
        self._observer = observer
        self._clock = clock
        self._profile = profile

    def point(self, point: str, call: Callable[[*Args], R], *args: *Args) -> R:
        """Call what runs a whole extension point."""
        started = self._clock.monotonic()
        result = call(*args)
        self._observer.extension_point(point, _status(result), self._profile, self._clock.monotonic() - started)
        return result

    async def point_async(self, point: str, call: Callable[[*Args], Awaitable[R]], *args: *Args) -> R:
        started = self._clock.monotonic()
        result = await call(*args)
        self._observer.extension_point(point, _status(result), self._profile, self._clock.monotonic() - started)
        return result

    def plugin(self, plugin: str, point: str, call: Callable[[*Args], R], *args: *Args) -> R:
        """Call one plugin."""
        started = self._clock.monotonic()
        result = call(*args)
        self._observer.plugin(plugin, point, _status(result), self._clock.monotonic() - started)
        return result

    async def plugin_async(self, plugin: str, point: str, call: Callable[[*Args], Awaitable[R]], *args: *Args) -> R:
        started = self._clock.monotonic()
        result = await call(*args)
        self._observer.plugin(plugin, point, _status(result), self._clock.monotonic() - started)
        return result

    def evaluated(self, point: str, plugins: Iterable[str]) -> None:
        self._observer.evaluated(plugins, point, self._profile)


def timed_point(stopwatch: Stopwatch | None, point: str, call: Callable[[*Args], R], *args: *Args) -> R:
    """Call what runs a whole extension point: timed, if this attempt has a stopwatch."""
    return call(*args) if stopwatch is None else stopwatch.point(point, call, *args)


def timed_point_async(
    stopwatch: Stopwatch | None, point: str, call: Callable[[*Args], Awaitable[R]], *args: *Args
) -> Awaitable[R]:
    return call(*args) if stopwatch is None else stopwatch.point_async(point, call, *args)


def timed_plugin(stopwatch: Stopwatch | None, plugin: str, point: str, call: Callable[[*Args], R], *args: *Args) -> R:
    """Call one plugin: timed, if this attempt has a stopwatch."""
    return call(*args) if stopwatch is None else stopwatch.plugin(plugin, point, call, *args)


def timed_plugin_async(
    stopwatch: Stopwatch | None,
    plugin: str,
    point: str,
    call: Callable[[*Args], Awaitable[R]],
    *args: *Args,
) -> Awaitable[R]:
    return call(*args) if stopwatch is None else stopwatch.plugin_async(plugin, point, call, *args)


def _status(result: object) -> str:
    """The code of a result that is a status, carries one, or begins or ends with one; anything else went well."""
    if isinstance(result, tuple):
        status = result[0] if isinstance(result[0], Status) else result[-1]
    else:
        status = getattr(result, "status", result)
    return _SUCCESS if not isinstance(status, Status) or status.is_success else str(status.code)
