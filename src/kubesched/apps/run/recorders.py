"""Events of all profiles: each is reported in the name of the scheduler that the pod chose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from random import Random

from kubesched.client.recorder import EventRecorder
from kubesched.client.rest import RestClient
from kubesched.clock import Clock
from kubesched.objects import Pod, PodGroup


class ProfileRecorders:
    """The framework's `EventRecorder` for a scheduler with several names. `first` is that of the first profile."""

    def __init__(
        self, rest: RestClient, clock: Clock, random: Random, *, scheduler_names: Iterable[str], hostname: str
    ) -> None:
        self._make: Callable[[str], EventRecorder] = lambda name: EventRecorder(
            rest, clock, random, reporting_controller=name, hostname=hostname
        )
        self._recorders = {name: self._make(name) for name in scheduler_names}
        self._first = next(iter(self._recorders.values()))

    def serve(self, scheduler_names: Iterable[str]) -> None:
        """There are other profiles now. Events of those that are gone are still written."""
        for name in scheduler_names:
            if name not in self._recorders:
                self._recorders[name] = recorder = self._make(name)
                recorder.start()

    def event(
        self,
        regarding: Pod,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *,
        related: Pod | PodGroup | None = None,
        reporter: str = "",
    ) -> None:
        """Who reports is the scheduler of the pod, unless a different one is named: that of a preemptor, say."""
        recorder = self._recorders.get(reporter or regarding.spec.scheduler_name, self._first)
        recorder.event(regarding, event_type, reason, action, note, related=related)

    def start(self) -> None:
        for recorder in self._recorders.values():
            recorder.start()

    async def stop(self, *, grace: float) -> None:
        """Give the events under way `grace` seconds to be written."""
        await asyncio.gather(*(recorder.stop(grace=grace) for recorder in self._recorders.values()))
