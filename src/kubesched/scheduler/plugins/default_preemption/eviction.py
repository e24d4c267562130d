"""Evict the victims, beside the scheduling of other pods."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kubesched.clock import utc
from kubesched.errors import ApiStatusError, ClientError
from kubesched.objects import Pod
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import Handle, NominatingInfo, Victims
from kubesched.scheduler.plugins.default_preemption.eligibility import DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER
from kubesched.scheduler.plugins.default_preemption.preemptor import Preemptor
from kubesched.telemetry.logging import log

_NOT_FOUND: Final = 404
_CLEARED: Final = NominatingInfo("")


@dataclass(slots=True)
class _InFlight:
    last_victim: Pod | None = None
    kept_out: bool = False
    """Whether the queue was refused the preemptor when it last asked, so that the event which woke it was lost."""


class Evictions:
    """The evictions that run now, by the uid of the pod or the pod group that they make room for."""

    def __init__(self, handle: Handle, plugin_name: str) -> None:
        self._handle = handle
        self._plugin_name = plugin_name
        self._in_flight: dict[str, _InFlight] = {}

    def is_running(self, uid: str) -> bool:
        """Whether victims of this pod, or group, are still to be deleted.

        While the last one is, it is enough that its deletion was seen: its event may come before the API's answer,
        and the preemptor must not miss it (isRunningPreemption).
        """
        running = self._in_flight.get(uid)
        if running is None:
            return False
        if (last := running.last_victim) is None:
            return True
        known = self._handle.objects.of(Pod).get(last.metadata.name, last.metadata.namespace)
        return known is not None and not known.is_terminating

    def keeps_out(self, uid: str) -> bool:
        """As `is_running`, for the queue; remembers the answer."""
        is_running = self.is_running(uid)
        if (running := self._in_flight.get(uid)) is not None:
            running.kept_out = is_running
        return is_running

    def start(self, preemptor: Preemptor, node_name: str, victims: Victims) -> None:
        """Evict in the background. Pods that are being deleted already need no call."""
        to_evict = _not_terminating(victims)
        if not to_evict:
            return
        self._handle.preemption_observer.evicting(victims, preemptor.what)
        # A preemptor that was let go may preempt again before the first answer is there: the newest eviction decides.
        self._in_flight[preemptor.uid] = running = _InFlight()
        self._handle.start_task(self._run(running, preemptor, node_name, to_evict))

    async def perform(self, preemptor: Preemptor, node_name: str, victims: Victims) -> None:
        """Evict while the scheduling cycle waits. Raises ClientError."""
        self._handle.preemption_observer.evicting(victims, preemptor.what)
        clock, result = self._handle.clock, "error"
        started = clock.monotonic()
        try:
            await self._evict_all(_not_terminating(victims), preemptor, node_name)
            await self._clear_nominations(preemptor, node_name)
            result = "success"
        finally:
            seconds = clock.monotonic() - started
            self._handle.preemption_observer.evicted(preemptor.what, result, seconds, in_background=False)

    async def _run(self, running: _InFlight, preemptor: Preemptor, node_name: str, to_evict: Sequence[Pod]) -> None:
        clock = self._handle.clock
        started = clock.monotonic()
        went_well = is_silent = False
        try:
            went_well = await self._clear_nominations(preemptor, node_name)
            *others, last = to_evict
            await self._evict_all(others, preemptor, node_name)
            running.last_victim = last
            in_memory = await self._evict(last, preemptor, node_name)
            is_silent = in_memory or (running.kept_out and not self._is_placed(last))
        except ClientError as error:
            went_well = False
            log.error("Error occurred during async preemption", error, preemptor=preemptor.key, node=node_name)
        finally:
            if self._in_flight.get(preemptor.uid) is running:
                del self._in_flight[preemptor.uid]
            result, seconds = "success" if went_well else "error", clock.monotonic() - started
            self._handle.preemption_observer.evicted(preemptor.what, result, seconds, in_background=True)
            if is_silent or not went_well:
                # No event may come that wakes its pods, so they must try again by themselves.
                self._handle.activate(preemptor.pods)

    async def _evict_all(self, victims: Sequence[Pod], preemptor: Preemptor, node_name: str) -> None:
        """All at once. The first error, once every call has ended."""
        results = await asyncio.gather(
            *(self._evict(victim, preemptor, node_name) for victim in victims), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _evict(self, victim: Pod, preemptor: Preemptor, node_name: str) -> bool:
        """A pod that is on its way to its node is stopped there; any other one is marked and deleted.

        Whether it was stopped, so that nobody will hear of a deletion.
        """
        note = f"Preempted by {preemptor.what} {preemptor.uid} on node {node_name}"
        in_memory = self._stops_in_memory(victim)
        if in_memory:
            note += " (in kube-scheduler memory)."
        elif not await self._delete(victim, preemptor):
            return False
        log.info("Preemptor Pod preempted victim Pod", v=2, preemptor=preemptor.key, victim=victim.key, node=node_name)
        self._handle.recorder.event(
            victim,
            "Normal",
            "Preempted",
            "Preempting",
            note,
            related=preemptor.object,
            reporter=preemptor.scheduler_name,
        )
        return in_memory

    def _is_placed(self, victim: Pod) -> bool:
        """Whether its room is still to become free, with an event.

        It is not where the victim's binding failed while its deletion waited: the room was free from then on, and the
        deletion of a pod without a node wakes nobody.
        """
        return self._handle.cluster.pods.row_of(victim.metadata.uid) is not None

    def _stops_in_memory(self, victim: Pod) -> bool:
        uid = victim.metadata.uid
        waiting = self._handle.waiting_pod(uid)
        if waiting is not None:
            return waiting.preempt(self._plugin_name, "preempted")
        return self._handle.cancel_binding(uid, f"preempted by {self._plugin_name}")

    async def _delete(self, victim: Pod, preemptor: Preemptor) -> bool:
        """False if the victim is gone already."""
        condition = PodCondition(
            type=DISRUPTION_TARGET,
            status="True",
            observed_generation=victim.metadata.generation,
            reason=PREEMPTION_BY_SCHEDULER,
            message=f"{preemptor.scheduler_name}: preempting to accommodate a higher priority {preemptor.what}",
            last_transition_time=utc(self._handle.clock),
        )
        try:
            await self._handle.api.patch_pod_status(victim, condition, None)
            await self._handle.api.delete_pod(victim)
        except ApiStatusError as error:
            if error.code != _NOT_FOUND:
                raise
            return False
        return True

    async def _clear_nominations(self, preemptor: Preemptor, node_name: str) -> bool:
        """Less important pods with a claim on the node may no longer fit there: they look elsewhere at once."""
        went_well = True
        for other in self._handle.nominator.on_node(node_name):
            if other.priority < preemptor.priority:
                try:
                    await self._handle.api.patch_pod_status(other.pod, None, _CLEARED)
                except ClientError as error:
                    log.error("Cannot clear the nominated node of a less important pod", error, pod=other.key)
                    went_well = False
        return went_well


def _not_terminating(victims: Victims) -> list[Pod]:
    return [victim for victim in victims.pods if not victim.is_terminating]
