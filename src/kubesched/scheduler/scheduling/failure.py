"""After an attempt that placed nothing: back to the queue, and report to the user why."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from kubesched.clock import Clock, utc
from kubesched.errors import ClientError, IllegalTransitionError, PluginError
from kubesched.objects import Pod
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo, ObjectStores, PodInfo, QueuedPod
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.observer import AttemptObserver
from kubesched.scheduler.scheduling.scheduling_cycle import Rejected
from kubesched.scheduler.state.queue import SchedulingQueue
from kubesched.telemetry.logging import log

LONGEST_NOTE: Final = 1024
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"

StartTask = Callable[[Coroutine[Any, Any, None]], object]


class FailureHandler:
    """`start_task` runs the writes to the API server beside the scheduling of other pods."""

    def __init__(
        self,
        queue: SchedulingQueue,
        objects: ObjectStores,
        info_of: Callable[[Pod], PodInfo],
        start_task: StartTask,
        clock: Clock,
        observer: AttemptObserver,
        plugin_failed: Callable[[str, str], None] = lambda plugin, problem: None,
    ) -> None:
        """`plugin_failed` is called with the name of a plugin that raised, and with what."""
        self._plugin_failed = plugin_failed
        self._queue = queue
        self._pods = objects.of(Pod)
        self._info_of = info_of
        self._start_task = start_task
        self._clock = clock
        self._observer = observer

    def handle(self, profile: Profile, queued: QueuedPod, rejected: Rejected, started: float) -> None:
        """Requeue the pod, unless it is gone, bound or recreated in the meantime; event and condition follow."""
        is_rejection = rejected.status.is_rejection
        elapsed = self._clock.monotonic() - started
        status = rejected.status
        if is_rejection:
            self._observer.unschedulable(profile.name, elapsed)
            log.info("Unable to schedule pod; no fit; waiting", v=2, pod=queued.info.key, err=status.message)
        else:
            self._observer.failed(profile.name, elapsed)
            log.error("Error scheduling pod; retrying", status.error or status.message, pod=queued.info.key)
            if isinstance(status.error, PluginError):
                self._plugin_failed(status.error.plugin, status.error.problem)
        queued.forget_rejections()
        if rejected.diagnosis is not None:
            queued.unschedulable_plugins = frozenset(rejected.diagnosis.unschedulable_plugins)
            queued.pending_plugins = frozenset(rejected.diagnosis.pending_plugins)
        if not self._requeue(queued):
            self._queue.done(queued.uid)
            return
        self._queue.nominator.add(queued.info, rejected.nominating)
        self._report(profile, queued.info.pod, rejected, SCHEDULER_ERROR if not is_rejection else UNSCHEDULABLE)

    def _requeue(self, queued: QueuedPod) -> bool:
        pod = queued.info.pod
        newest = self._pods.get(pod.metadata.name, pod.metadata.namespace)
        if newest is None or newest.spec.node_name or newest.metadata.uid != pod.metadata.uid:
            log.info("Pod is gone, bound or recreated: not queued again", v=2, pod=pod.key)
            return False
        if newest is not pod:
            queued.info = self._info_of(newest)
        try:
            self._queue.add_unschedulable(queued)
        except IllegalTransitionError as error:
            log.error("Pod could not be queued again", error, pod=pod.key)
        return True

    def _report(self, profile: Profile, pod: Pod, rejected: Rejected, reason: str) -> None:
        message = rejected.status.message
        note = message if len(message) <= LONGEST_NOTE else f"{message[: LONGEST_NOTE - 4]} ..."
        profile.handle.recorder.event(pod, "Warning", "FailedScheduling", "Scheduling", note)
        condition = PodCondition(
            type="PodScheduled",
            status="False",
            observed_generation=pod.metadata.generation,
            reason=reason,
            message=message,
            last_transition_time=utc(self._clock),
        )
        self._start_task(self._write(profile, pod, condition, rejected.nominating))

    @staticmethod
    async def _write(profile: Profile, pod: Pod, condition: PodCondition, nominating: NominatingInfo | None) -> None:
        try:
            await profile.handle.api.patch_pod_status(pod, condition, nominating)
        except ClientError as error:
            log.error("Error updating the status of a pod that could not be scheduled", error, pod=pod.key)
