"""The scheduler: take a pod from the queue, decide, and leave the binding to a task of its own. Again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from kubesched.clock import Clock
from kubesched.scheduler.framework import QueuedPod
from kubesched.scheduler.framework.events import ASSIGNED_POD_DELETE
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.background_tasks import BackgroundTasks
from kubesched.scheduler.scheduling.binding_cycle import BindingCycle
from kubesched.scheduler.scheduling.failure import FailureHandler
from kubesched.scheduler.scheduling.observer import AttemptObserver
from kubesched.scheduler.scheduling.pod_group_cycle import PodGroupCycle
from kubesched.scheduler.scheduling.scheduling_cycle import Decision, SchedulingCycle
from kubesched.scheduler.state.cache import Cache
from kubesched.scheduler.state.queue import SchedulingQueue
from kubesched.telemetry.logging import log

EXPIRY_INTERVAL: Final = 1.0
DECISIONS_BETWEEN_TURNS: Final = 32
SECONDS_BETWEEN_TURNS: Final = 0.002
"""After so many decisions in a row, or so much time, the event loop gets a turn, so that bindings and events flow."""


class Scheduler:
    """All profiles of one process."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        cycles: Mapping[str, SchedulingCycle],
        bindings: Mapping[str, BindingCycle],
        *,
        cache: Cache,
        queue: SchedulingQueue,
        failure: FailureHandler,
        tasks: BackgroundTasks,
        clock: Clock,
        observer: AttemptObserver,
        pod_groups: PodGroupCycle | None = None,
    ) -> None:
        """`pod_groups` decides on pods that belong to a group; without it they are scheduled like all others."""
        self.profiles = profiles
        self.cache = cache
        self.queue = queue
        self.tasks = tasks
        self._cycles = cycles
        self._bindings = bindings
        self._failure = failure
        self._clock = clock
        self._observer = observer
        self._pod_groups = pod_groups
        self._is_deciding = False
        self._between: list[Callable[[], None]] = []

    def between_decisions(self, action: Callable[[], None]) -> None:
        """Do something while no decision is being made: now, or when the one that is being made has ended."""
        if self._is_deciding:
            self._between.append(action)
        else:
            action()

    async def run(self) -> None:
        """Schedule until cancelled or until the queue is closed."""
        clock = self._clock
        while True:
            turn_ends = clock.monotonic() + SECONDS_BETWEEN_TURNS
            for _ in range(DECISIONS_BETWEEN_TURNS):
                queued = self.queue.try_pop() or await self.queue.pop()
                if queued is None:
                    return
                self._is_deciding = True
                await self.schedule_one(queued)
                self._is_deciding = False
                if self._between:
                    self._catch_up()
                if clock.monotonic() > turn_ends:
                    break
            await asyncio.sleep(0)

    async def expire_assumed(self) -> None:
        """Once a second, forget assumed pods whose time is up, and wake those who wait for what they held.

        Ends at once where assumed pods never expire.
        """
        while self.cache.expires:
            await self._clock.sleep(EXPIRY_INTERVAL)
            for pod in self.cache.expire_assumed():
                self.queue.move_all(ASSIGNED_POD_DELETE, pod, None)

    async def schedule_one(self, queued: QueuedPod) -> None:
        """One attempt: decide now, bind in the background."""
        if self._pod_groups is not None and queued.info.pod.spec.scheduling_group is not None:
            await self._schedule_group(self._pod_groups, queued)
            return
        profile = self._profile_of(queued)
        if profile is None:
            return
        if log.loudest >= 3:
            log.info("Attempting to schedule pod", v=3, pod=queued.info.key)
        started = self._clock.monotonic()
        cycle = self._cycles[profile.name]
        outcome = await cycle.decide(queued)
        self._observer.algorithm_ran(self._clock.monotonic() - started)
        if isinstance(outcome, Decision):
            outcome = cycle.commit(queued, outcome)
        if isinstance(outcome, Decision):
            self.tasks.start(self._bindings[profile.name].run(queued, outcome, started))
        else:
            self._failure.handle(profile, queued, outcome, started)

    async def schedule_pending(self) -> int:
        """Try every pod that is ready now, once, and bind those that need not wait. For simulations and library use."""
        attempts = 0
        while (queued := self.queue.try_pop()) is not None:
            self._is_deciding = True
            await self.schedule_one(queued)
            self._is_deciding = False
            if self._between:
                self._catch_up()
            attempts += 1
        await self.tasks.settle()
        return attempts

    def _catch_up(self) -> None:
        """Do what waited for the end of a decision."""
        actions, self._between = self._between, []
        for action in actions:
            action()

    async def _schedule_group(self, pod_groups: PodGroupCycle, first: QueuedPod) -> None:
        members = [queued for queued in pod_groups.take_others(first) if self._profile_of(queued) is not None]
        if members:
            await pod_groups.run(members)

    def _profile_of(self, queued: QueuedPod) -> Profile | None:
        """The profile that a popped pod asks for; None, and the pod is done with, if there is nothing to decide."""
        pod = queued.info.pod
        profile = self.profiles.get(pod.spec.scheduler_name)
        if profile is not None and pod.metadata.deletion_timestamp is not None:
            note = f"skip schedule deleting pod: {pod.key}"
            profile.handle.recorder.event(pod, "Warning", "FailedScheduling", "Scheduling", note)
            log.info("Skip schedule deleting pod", v=3, pod=pod.key)
        elif profile is not None and not self.cache.is_assumed(pod.metadata.uid):
            return profile
        # Nobody's, being deleted, or placed while an update put it back into the queue.
        self.queue.done(queued.uid)
        return None
