"""Calling one plugin: timed, if the attempt is, and guarded. What it raises becomes an error of this pod's attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesched.errors import PluginError
from kubesched.objects import Pod
from kubesched.scheduler.framework import Code, CycleState, Plugin, Status
from kubesched.telemetry.logging import log

Explain = Callable[[Plugin, str, Status], Status]


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
