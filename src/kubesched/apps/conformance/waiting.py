"""Recorded cases about the order of the queue, and about pods that wait for each other (Permit)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.framework import CycleState, QueuedPod, Status


def queue_order(assembled: Assembled, pods: Sequence[Pod], times: Sequence[float]) -> dict[str, Any]:
    """The pods as they leave the queue, if they came at these times."""
    profile = assembled.profiles[pods[0].spec.scheduler_name]
    templates, clock = assembled.cache.cluster.templates, profile.handle.clock
    start = clock.time() - clock.monotonic()
    queued = [
        QueuedPod(info=templates.info(pod), timestamp=came - start, initial_attempt=came - start)
        for pod, came in zip(pods, times, strict=True)
    ]
    return {"sorted": [one.info.key for one in sorted(queued, key=profile.queue_sort.sort_key)]}


@dataclass(frozen=True)
class _Held:
    """A pod that Permit holds back on its node."""

    pod: Pod
    node_name: str
    state: CycleState
    decision: asyncio.Task[Status]


async def gang(assembled: Assembled, pods: Sequence[Pod]) -> dict[str, Any]:
    """Each pod in turn goes to the first node by name that takes it: what becomes of it, and of those that wait."""
    for pod in pods:
        assembled.handlers.add(pod)
    held: dict[str, _Held] = {}
    steps = []
    for pod in pods:
        step = await _attempt(assembled, pod, held)
        steps.append({"pod": pod.key, **step, "then": await _settle(assembled, held)})
    return {"steps": steps}


async def _attempt(assembled: Assembled, pod: Pod, held: dict[str, _Held]) -> dict[str, Any]:
    profile = assembled.profiles[pod.spec.scheduler_name]
    info = assembled.cache.cluster.templates.info(pod)
    fit = assembled.evaluators[profile.name].filter(info)
    if not fit.count:
        pre_filter = fit.pre_filtered.status
        step = {} if pre_filter.is_success else {"preFilter": _said(pre_filter)}
        _, status = await profile.post_filter(fit.state, info, fit.diagnosis())
        return {**step, "postFilter": _said(status)}
    node_name = min(fit.names())
    assembled.cache.assume(info, node_name)
    status = profile.reserve(fit.state, pod, node_name)
    if not status.is_success:
        raise InvalidObjectError(f"cannot be reserved on {node_name}: {status.message}", kind="Pod", name=pod.key)
    status = profile.permit(fit.state, pod, node_name)
    if status.is_wait:
        waiting = asyncio.create_task(profile.wait_on_permit(pod))
        held[pod.key] = _Held(pod, node_name, fit.state, waiting)
    elif not status.is_success:
        _undo(assembled, pod, node_name, fit.state)
    return {"node": node_name, "permit": _said(status)}


async def _settle(assembled: Assembled, held: dict[str, _Held]) -> dict[str, Any]:
    """What became of pods that waited, until nothing happens any more."""
    settled: dict[str, Any] = {}
    while True:
        for _ in range(3):
            await asyncio.sleep(0)
        decided = [key for key in sorted(held) if held[key].decision.done()]
        if not decided:
            return settled
        for key in decided:
            one = held.pop(key)
            status = one.decision.result()
            settled[key] = _said(status)
            if not status.is_success:
                _undo(assembled, one.pod, one.node_name, one.state)


def _undo(assembled: Assembled, pod: Pod, node_name: str, state: CycleState) -> None:
    assembled.profiles[pod.spec.scheduler_name].unreserve(state, pod, node_name)
    assembled.cache.forget(pod)


def _said(status: Status) -> dict[str, Any]:
    """As recordings write it: of a pod that waits, nothing but that."""
    if status.is_wait:
        return {"code": str(status.code)}
    plugin = {"plugin": status.plugin} if status.plugin else {}
    return {**plugin, "code": str(status.code), "reasons": sorted(status.reasons)}
