"""The binding cycle: from a chosen node to a bound pod. Many run at once, and none delays the next decision.

WaitOnPermit ► PreBind ► Bind ► PostBind        failure: Unreserve ► Forget ► requeue
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from kubesched.clock import Clock
from kubesched.errors import ClientError
from kubesched.scheduler.framework import NominatingInfo, PreBindPlugin, QueuedPod, Status
from kubesched.scheduler.framework.events import ASSIGNED_POD_DELETE
from kubesched.scheduler.framework.stopwatch import timed_point_async
from kubesched.scheduler.runtime.pods_in_pre_bind import PodInPreBind
from kubesched.scheduler.runtime.pre_binding import pre_bind
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.extenders import ExtenderChain
from kubesched.scheduler.scheduling.failure import FailureHandler
from kubesched.scheduler.scheduling.observer import AttemptObserver
from kubesched.scheduler.scheduling.scheduling_cycle import Decision, Rejected, rejected_on
from kubesched.scheduler.state.cache import Cache, on_node
from kubesched.scheduler.state.queue import SchedulingQueue
from kubesched.telemetry.logging import log

SCHEDULED: Final = "Scheduled"
BINDING: Final = "Binding"


class BindingCycle:
    """One profile's binding."""

    def __init__(
        self,
        profile: Profile,
        cache: Cache,
        queue: SchedulingQueue,
        extenders: ExtenderChain,
        failure: FailureHandler,
        clock: Clock,
        observer: AttemptObserver,
        *,
        announces: bool = True,
    ) -> None:
        """`announces`: report where a pod will be while its binding takes time (NominatedNodeNameForExpectation)."""
        self._profile = profile
        self._cache = cache
        self._queue = queue
        self._extenders = extenders
        self._failure = failure
        self._clock = clock
        self._observer = observer
        self._announces = announces

    async def run(self, queued: QueuedPod, assumed: Decision, started: float) -> None:
        """Bind an assumed pod, or undo everything. Never raises."""
        try:
            rejected = await self._bind(queued, assumed)
        except asyncio.CancelledError:
            self._take_back(queued, assumed)  # the scheduler is stopping: from now on the pod is another scheduler's
            raise
        except Exception as error:
            log.error("Binding cycle failed", error, pod=queued.info.key)
            rejected = Rejected(Status.failed(error))
        if rejected is not None:
            self._undo(queued, assumed, rejected, started)
            return
        self._bound(queued, assumed, started)

    async def _bind(self, queued: QueuedPod, assumed: Decision) -> Rejected | None:
        pod, state, node_name, profile = queued.info.pod, assumed.state, assumed.node_name, self._profile
        waits, active = profile.will_wait(pod), profile.pre_binds(state)
        if self._announces and (waits or active):
            preflight, active = profile.pre_bind_preflight(state, pod, node_name)
            if not (preflight.is_success or preflight.is_skip):
                return Rejected(preflight)
            if waits or active:
                await self._announce(queued, node_name)
        if waits:
            status = await profile.wait_on_permit(pod)
            if not status.is_success:
                return rejected_on(node_name, status)
        # From here on a failure is no longer "does not fit", so events of the meantime need not be remembered.
        self._queue.done(queued.info.uid)
        if active:
            status = await self._pre_bind(active, queued, assumed)
            if not status.is_success:
                return Rejected(status)
        extenders, api = self._extenders, profile.handle.api
        by_extender = None if extenders.is_empty else await extenders.bind(pod, node_name, api)
        if by_extender is not None:
            status = by_extender
        else:
            status = await assumed.points.bind(state, pod, node_name)
        return None if status.is_success else Rejected(status)

    async def _pre_bind(self, active: Sequence[PreBindPlugin], queued: QueuedPod, assumed: Decision) -> Status:
        """PreBind, which preemption may cancel while it waits."""
        state = assumed.state
        timed = timed_point_async(
            state.stopwatch, "PreBind", pre_bind, active, state, queued.info.pod, assumed.node_name
        )
        in_pre_bind = self._profile.handle.in_pre_bind
        in_pre_bind[queued.uid] = running = PodInPreBind(asyncio.ensure_future(timed))
        try:
            return await running.outcome()
        finally:
            in_pre_bind.pop(queued.uid, None)

    async def _announce(self, queued: QueuedPod, node_name: str) -> None:
        """Report to others (an autoscaler, say) where the pod will be, while binding it takes its time."""
        try:
            await self._profile.handle.api.patch_pod_status(queued.info.pod, None, NominatingInfo(node_name))
        except ClientError as error:
            log.error("Failed to nominate the node of a pod in binding", error, pod=queued.info.key, node=node_name)

    def _bound(self, queued: QueuedPod, assumed: Decision, started: float) -> None:
        pod, node_name, state = queued.info.pod, assumed.node_name, assumed.state
        self._cache.finish_binding(pod)
        if log.loudest >= 2:
            log.info(
                "Successfully bound pod to node",
                v=2,
                pod=pod.key,
                node=node_name,
                evaluatedNodes=assumed.evaluated,
                feasibleNodes=assumed.feasible,
            )
        self._profile.handle.recorder.event(
            pod, "Normal", SCHEDULED, BINDING, f"Successfully assigned {pod.key} to {node_name}"
        )
        self._observer.scheduled(self._profile.name, queued, self._clock.monotonic() - started)
        assumed.points.post_bind(state, pod, node_name)
        if state.pods_to_activate:
            self._queue.activate(state.pods_to_activate.values())

    def _undo(self, queued: QueuedPod, assumed: Decision, rejected: Rejected, started: float) -> None:
        was_assumed = self._take_back(queued, assumed)
        # What the pod held is free again, which is as good as a deletion to the pods that wait. The pod itself is
        # not helped by it if it was rejected: it must not wake itself.
        left = on_node(queued.info.pod, assumed.node_name)
        if was_assumed and not rejected.status.is_rejection:
            self._queue.move_all(ASSIGNED_POD_DELETE, left, None)
        self._failure.handle(self._profile, queued, rejected, started)
        if was_assumed and rejected.status.is_rejection:
            self._queue.move_all(ASSIGNED_POD_DELETE, left, None, except_uid=queued.uid)

    def _take_back(self, queued: QueuedPod, assumed: Decision) -> bool:
        """Let go of all that the pod holds; whether the cache still assumed it."""
        pod = queued.info.pod
        self._profile.handle.waiting.remove(queued.uid)
        assumed.points.unreserve(assumed.state, pod, assumed.node_name)
        was_assumed = self._cache.is_assumed(queued.uid)
        if was_assumed:
            self._cache.forget(pod)
        return was_assumed
