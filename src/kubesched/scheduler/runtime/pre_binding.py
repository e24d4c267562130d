"""PreBind: which plugins have something to do for a pod, and the doing of it; side by side where they allow it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from kubesched.objects import Pod
from kubesched.scheduler.framework import SKIP, SUCCESS, Code, CycleState, Plugin, PreBindPlugin, Status
from kubesched.scheduler.runtime.calling import call, call_async, explained

POINT: Final = "PreBind"
PREFLIGHT: Final = "PreBindPreFlight"
_PREFLIGHT_ANSWERS: Final = "It is supposed to return Success, Skip, or Error status"


def preflight(
    plugins: Iterable[PreBindPlugin], state: CycleState, pod: Pod, node_name: str
) -> tuple[Status, list[PreBindPlugin]]:
    """SKIP if none has anything to do; else success and those that have."""
    active: list[PreBindPlugin] = []
    for plugin in plugins:
        ask = plugin.pre_bind_preflight
        status = call(plugin, PREFLIGHT, ask, state, pod, node_name, explain=_failed_preflight)
        if status.is_success:
            active.append(plugin)
        elif not status.is_skip:
            return status, []
    return (SUCCESS if active else SKIP), active


async def pre_bind(active: Sequence[PreBindPlugin], state: CycleState, pod: Pod, node_name: str) -> Status:
    """One after the other, but neighbours that allow it at the same time; the first failure ends it all.

    So does a cancellation of the task. One that gives a reason is answered like a failure, in the name of a plugin that
    was at work (RunPreBindPlugins); any other goes through.
    """
    for is_parallel, neighbours in groupby(active, lambda plugin: plugin.pre_binds_in_parallel):
        together = list(neighbours)
        if is_parallel and len(together) > 1:
            status = await _side_by_side(together, state, pod, node_name)
        else:
            status = await _in_turn(together, state, pod, node_name)
        if not status.is_success:
            return status
    return SUCCESS


async def _in_turn(plugins: Sequence[PreBindPlugin], state: CycleState, pod: Pod, node_name: str) -> Status:
    for plugin in plugins:
        try:
            status = await call_async(plugin, POINT, plugin.pre_bind, state, pod, node_name)
        except asyncio.CancelledError as stop:
            return _stopped(plugin, stop)
        if not status.is_success:
            return status
    return SUCCESS


async def _side_by_side(plugins: Sequence[PreBindPlugin], state: CycleState, pod: Pod, node_name: str) -> Status:
    tasks = [
        asyncio.create_task(call_async(plugin, POINT, plugin.pre_bind, state, pod, node_name)) for plugin in plugins
    ]
    try:
        for finished in asyncio.as_completed(tasks):
            status = await finished
            if not status.is_success:
                return status
        return SUCCESS
    except asyncio.CancelledError as stop:
        at_work = [plugin for plugin, task in zip(plugins, tasks, strict=True) if not task.done()]
        if not at_work:
            raise
        return _stopped(at_work[0], stop)
    finally:
        # None of them may go on once the pod is bound, or given up.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _stopped(plugin: PreBindPlugin, stop: asyncio.CancelledError) -> Status:
    """What became of a plugin that was at work when the task was cancelled."""
    if not stop.args:
        raise stop
    return explained(plugin, POINT, Status.failed(stop.args[0]))


def _failed_preflight(plugin: Plugin, point: str, status: Status) -> Status:
    """Even a rejection is an error there (RunPreBindPreFlights)."""
    if status.code is Code.ERROR:
        message = f'running {point} "{plugin.name}": {status.message}'
    else:
        message = f'{point} {plugin.name} returned "{status.code}", which is unsupported. {_PREFLIGHT_ANSWERS}'
    return Status(Code.ERROR, (message,), plugin.name, status.error)
