"""Pods that Permit plugins hold back between the scheduling cycle and the binding cycle."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta

from kubesched.clock import Clock
from kubesched.config.duration import format_duration
from kubesched.objects import Pod
from kubesched.scheduler.framework import SUCCESS, Status

LONGEST_WAIT = 15 * 60.0
"""Seconds; a plugin that asks for more gets this."""


class WaitingPod:
    """Waits until every plugin that asked for it allows it, one rejects it, or one's time is up."""

    def __init__(self, pod: Pod, waits: Mapping[str, float], clock: Clock) -> None:
        self.pod = pod
        self._clock = clock
        self._pending = set(waits)
        self._decided: asyncio.Future[Status] = asyncio.get_running_loop().create_future()
        self._timers = [asyncio.create_task(self._time_out(name, seconds)) for name, seconds in waits.items()]

    @property
    def pending_plugins(self) -> Collection[str]:
        return frozenset(self._pending)

    def allow(self, plugin: str) -> None:
        """The last plugin's permission lets the pod go on."""
        self._pending.discard(plugin)
        if not self._pending:
            self._decide(SUCCESS)

    def reject(self, plugin: str, message: str) -> bool:
        """False if that comes too late."""
        return self._decide(Status.unschedulable(message).by(plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """Take its node from it, if it is not too late.

        An error, not a rejection: nothing about the pod keeps it from another try.
        """
        return self._decide(Status.failed(message).by(plugin))

    async def decision(self) -> Status:
        return await self._decided

    async def _time_out(self, plugin: str, seconds: float) -> None:
        await self._clock.sleep(seconds)
        waited = format_duration(timedelta(seconds=seconds))
        self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def stop_waiting(self) -> None:
        """Nobody waits for the decision any more."""
        for timer in self._timers:
            timer.cancel()

    def _decide(self, status: Status) -> bool:
        """The first decision holds; whether this is the first."""
        is_open = not self._decided.done()
        if is_open:
            self._decided.set_result(status)
        for timer in self._timers:
            if timer is not asyncio.current_task():
                timer.cancel()
        return is_open


class WaitingPods:
    """All waiting pods of a scheduler, whatever their profile, by uid."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def add(self, pod: Pod, waits: Mapping[str, float], clock: Clock) -> None:
        limited = {plugin: min(seconds, LONGEST_WAIT) for plugin, seconds in waits.items()}
        self._pods[pod.metadata.uid] = WaitingPod(pod, limited, clock)

    def reject(self, uid: str) -> bool:
        """Reject a pod that is gone; False if it does not wait, or does no longer (RejectWaitingPod)."""
        waiting = self._pods.get(uid)
        return waiting is not None and waiting.reject("", "removed")

    def remove(self, uid: str) -> None:
        """Idempotent."""
        if (waiting := self._pods.pop(uid, None)) is not None:
            waiting.stop_waiting()
