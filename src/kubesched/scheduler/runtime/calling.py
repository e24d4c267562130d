"""Calling plugins and extension points after Score, all of which take (state, pod, node name).

Calls are timed if the attempt has a stopwatch; here and in `framework.stopwatch` is the only place that asks whether it
has one. What a plugin raises becomes an error of this pod's attempt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kubesched.errors import PluginError
from kubesched.objects import Pod
from kubesched.scheduler.framework import Code, CycleState, Plugin, Status
from kubesched.telemetry.logging import log

R = TypeVar("R")
Explain = Callable[[Plugin, str, Status], Status]


def run_point(point: str, run: Callable[[CycleState, Pod, str], R], state: CycleState, pod: Pod, node_name: str) -> R:
    """Run a whole extension point. Its arguments are spelt out: passing on `*args` would cost twice the call itself."""
    if state.stopwatch is None:
        return run(state, pod, node_name)
    return state.stopwatch.point(point, run, state, pod, node_name)


def run_point_async(
    point: str, run: Callable[[CycleState, Pod, str], Awaitable[R]], state: CycleState, pod: Pod, node_name: str
) -> Awaitable[R]:
    if state.stopwatch is None:
        return run(state, pod, node_name)
    return state.stopwatch.point_async(point, run, state, pod, node_name)


def explained(plugin: Plugin, point: str, status: Status) -> Status:
    """A rejection with its plugin named; an error in the words of the framework."""
    if status.is_rejection:
        return status.by(plugin.name)
    message = f'running {point} plugin "{plugin.name}": {status.message}'
    return Status(Code.ERROR, (message,), plugin.name, status.error)


def call(
    plugin: Plugin,
    point: str,
    method: Callable[[CycleState, Pod, str], Status],
    state: CycleState,
    pod: Pod,
    node_name: str,
    explain: Explain = explained,
) -> Status:
    """`explain` words an answer that is neither success nor skip; usually as `explained` does."""
    try:
        if state.stopwatch is None:
            status = checked(method(state, pod, node_name))
        else:
            status = checked(state.stopwatch.plugin(plugin.name, point, method, state, pod, node_name))
    except Exception as error:
        return broken(plugin, point, error)
    return status if status.is_success or status.is_skip else explain(plugin, point, status)


async def call_async(
    plugin: Plugin,
    point: str,
    method: Callable[[CycleState, Pod, str], Awaitable[Status]],
    state: CycleState,
    pod: Pod,
    node_name: str,
) -> Status:
    try:
        if state.stopwatch is None:
            status = checked(await method(state, pod, node_name))
        else:
            status = checked(await state.stopwatch.plugin_async(plugin.name, point, method, state, pod, node_name))
    except Exception as error:
        return broken(plugin, point, error)
    return status if status.is_success or status.is_skip else explained(plugin, point, status)


def checked(status: object) -> Status:
    if not isinstance(status, Status):
        raise TypeError(f"must answer with a Status, not {status!r}")
    return status


def checked_pair(answer: object, meant: str) -> tuple[Any, Any]:
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise TypeError(f"must answer with {meant}, not {answer!r}")
    return answer


def broken(plugin: Plugin, point: str, error: Exception) -> Status:
    """A plugin that raised."""
    log.error("Plugin raised", error, plugin=plugin.name, point=point)
    return Status.failed(PluginError.raised(plugin.name, point, error)).by(plugin.name)
