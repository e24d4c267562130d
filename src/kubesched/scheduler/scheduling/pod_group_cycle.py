"""The scheduling cycle of a pod group: its pods are decided on together (feature gate GenericWorkload).

take the pods of the group from the queue ► try them all ► (make room) ► bind those that fit, or send everyone back
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from kubesched.clock import Clock
from kubesched.scheduler.framework import NominatingInfo, PodGroupInfo, QueuedPod, Status
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.binding_cycle import BindingCycle
from kubesched.scheduler.scheduling.failure import FailureHandler, StartTask
from kubesched.scheduler.scheduling.observer import PodGroupObserver
from kubesched.scheduler.scheduling.pod_group_as_one import GroupRules
from kubesched.scheduler.scheduling.pod_group_condition import PodGroupConditions
from kubesched.scheduler.scheduling.pod_group_preemption import PodGroupPreemption
from kubesched.scheduler.scheduling.pod_group_trial import GROUP_UNSCHEDULABLE, GroupResult, GroupTrial, PodResult
from kubesched.scheduler.scheduling.scheduling_cycle import CLEAR_NOMINATION, Decision, Rejected, SchedulingCycle
from kubesched.scheduler.state.pod_groups import PodGroups
from kubesched.scheduler.state.queue import SchedulingQueue
from kubesched.telemetry.logging import log

SCHEDULED: Final = "scheduled"
UNSCHEDULABLE: Final = "unschedulable"
WAITING_ON_PREEMPTION: Final = "waiting_on_preemption"
ERROR: Final = "error"


class PodGroupCycle:
    """All profiles' groups. `trials` and the two kinds of cycles are given per profile name."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        cycles: Mapping[str, SchedulingCycle],
        bindings: Mapping[str, BindingCycle],
        trials: Mapping[str, GroupTrial],
        *,
        queue: SchedulingQueue,
        pod_groups: PodGroups,
        failure: FailureHandler,
        conditions: PodGroupConditions,
        start_task: StartTask,
        clock: Clock,
        observer: PodGroupObserver,
        preemption: PodGroupPreemption | None = None,
        as_one: GroupRules | None = None,
    ) -> None:
        """`preemption` makes room for whole groups; without it, each pod preempts by itself.

        With `as_one`, groups are decided on as since Kubernetes 1.37; the trials must be such, too.
        """
        self._as_one = as_one
        self._profiles = profiles
        self._cycles = cycles
        self._bindings = bindings
        self._trials = trials
        self._queue = queue
        self._pod_groups = pod_groups
        self._failure = failure
        self._conditions = conditions
        self._start_task = start_task
        self._clock = clock
        self._observer = observer
        self._preemption = preemption

    def take_others(self, first: QueuedPod) -> list[QueuedPod]:
        """The pods of the group of a pod that was popped, all in flight now, the most important first."""
        name, namespace = _group_of(first), first.info.pod.metadata.namespace
        state = self._pod_groups.get(namespace, name)
        others = [uid for uid in state.unscheduled if uid != first.uid] if state is not None else []
        members = [first, *(queued for uid in others if (queued := self._queue.pop_specific(uid)) is not None)]
        if self._as_one is None:
            return sorted(members, key=lambda queued: (-queued.info.priority, queued.initial_attempt or 0.0))
        for uid in others:
            if plugin := self._queue.gating_plugin_of(uid):
                # If any pod is gated, the whole group is.
                for queued in members:
                    self._queue.hold_back(queued, plugin)
                return []
        return sorted(members, key=_order_as_one)

    async def run(self, members: Sequence[QueuedPod]) -> None:
        """Decide on the pods of one group, which are in flight; each ends in a binding or back in the queue."""
        started = self._clock.monotonic()
        if self._as_one is not None and (problem := self._as_one.problem_of(members)):
            self._refuse(members, problem, started)
            return
        names = list(dict.fromkeys(queued.info.pod.spec.scheduler_name for queued in members))
        if len(names) > 1:
            got = f'"{names[1]}" and "{names[0]}"'
            problem = f"all pods in a single pod group should have the same .spec.schedulerName set, got: {got}"
            self._refuse(members, problem, started)
            return
        profile = self._profiles[names[0]]
        group = _info_of(members)
        trial = self._trials[profile.name]
        result = await trial.run(group, members)
        self._observer.algorithm_ran(self._clock.monotonic() - started)
        before = result.status
        if self._preemption is not None:
            await self._preemption.attempt(profile, trial, group, members, result)
        tried = {pod.queued.uid: pod for pod in result.pods}
        for queued in members:
            found = tried.get(queued.uid)
            outcome = _outcome_as_one(queued, found, result, before) if self._as_one else _outcome(found, result)
            self._submit(profile, queued, found, outcome, at_once=self._as_one is not None and before.is_success)
        self._report(profile, group, result, started)

    def _refuse(self, members: Sequence[QueuedPod], problem: str, started: float) -> None:
        """Pods that cannot be decided on together."""
        status = Status.failed(problem)
        for queued in members:
            profile = self._profiles[queued.info.pod.spec.scheduler_name]
            self._failure.handle(profile, queued, Rejected(status), started)
        if self._as_one is not None:
            api = self._profiles[members[0].info.pod.spec.scheduler_name].handle.api
            self._start_task(self._conditions.write(api, _info_of(members), status))

    def _submit(
        self,
        profile: Profile,
        queued: QueuedPod,
        tried: PodResult | None,
        outcome: Decision | Rejected,
        *,
        at_once: bool,
    ) -> None:
        """`at_once`: what is left of a group that was placed is tried again without a pause, so that it can preempt."""
        # What the others of its group took is not a pod's own time (submitPodGroupAlgorithmResult).
        started = self._clock.monotonic() - (tried.seconds if tried is not None else 0.0)
        if isinstance(outcome, Decision):
            committed = self._cycles[profile.name].commit(queued, outcome)
            if isinstance(committed, Decision):
                self._start_task(self._bindings[profile.name].run(queued, committed, started))
                return
            outcome = committed
        waits_since = queued.timestamp
        self._failure.handle(profile, queued, outcome, started)
        if at_once:
            queued.timestamp = waits_since
            queued.unschedulable_count = queued.consecutive_errors = 0
            self._queue.activate([queued.info])

    def _report(self, profile: Profile, group: PodGroupInfo, result: GroupResult, started: float) -> None:
        if result.status.is_success:
            outcome = SCHEDULED
        elif result.status.is_rejection:
            outcome = WAITING_ON_PREEMPTION if result.waits_for_preemption else UNSCHEDULABLE
        else:
            outcome = ERROR
            log.error("Error scheduling pod group", result.status.error, podGroup=group.key)
        log.info("Attempted to schedule a pod group", v=2, podGroup=group.key, result=outcome)
        self._observer.attempted(profile.name, outcome, self._clock.monotonic() - started)
        self._start_task(self._conditions.write(profile.handle.api, group, result.status))


def _outcome(tried: PodResult | None, result: GroupResult) -> Decision | Rejected:
    """What becomes of one pod, given what became of all (submitPodGroupAlgorithmResult)."""
    if not (result.status.is_success or result.status.is_rejection):
        own = tried.rejected.status if tried is not None and tried.rejected is not None else None
        return Rejected(own if own is not None and not own.is_rejection else result.status)
    if tried is None:
        return Rejected(result.status, nominating=None)
    decision, rejected = tried.decision, tried.rejected
    if decision is not None and not result.is_feasible:
        # It would have fitted, or would have after a preemption: what counts is that the others do not.
        return Rejected(Status.unschedulable(GROUP_UNSCHEDULABLE, *tried.permit.reasons), nominating=CLEAR_NOMINATION)
    if rejected is not None:
        return rejected
    assert decision is not None, "a pod that was tried has a decision or a rejection"
    if result.waits_for_preemption:
        return Rejected(result.status, nominating=NominatingInfo(decision.node_name))
    return decision


def _outcome_as_one(
    queued: QueuedPod, tried: PodResult | None, result: GroupResult, before: Status
) -> Decision | Rejected:
    """The same as since 1.37; `before` is the group's status before PodGroupPostFilter."""
    status = result.status
    if not (status.is_success or status.is_rejection):
        own = tried.rejected.status if tried is not None and tried.rejected is not None else None
        return Rejected(own if own is not None and not own.is_rejection else status)
    awaited = result.nominations.get(queued.uid)
    nominating = NominatingInfo(awaited) if awaited is not None else None
    if tried is None:
        return Rejected(before, nominating=nominating)
    if tried.rejected is not None:
        return replace(tried.rejected, nominating=nominating or tried.rejected.nominating)
    assert tried.decision is not None, "a pod that was tried has a decision or a rejection"
    if status.is_success:
        return tried.decision
    if result.waits_for_preemption:
        return Rejected(status, nominating=nominating)
    return Rejected(Status.unschedulable(GROUP_UNSCHEDULABLE, status.message), nominating=CLEAR_NOMINATION)


def _order_as_one(queued: QueuedPod) -> tuple[int, int, float, str]:
    """The order in which pods of a group are tried since 1.37 (PodGroupMemberPodsOrderingFunc)."""
    return -queued.info.priority, -queued.attempts, queued.timestamp, queued.info.pod.metadata.name


def _info_of(members: Sequence[QueuedPod]) -> PodGroupInfo:
    namespace = members[0].info.pod.metadata.namespace
    return PodGroupInfo(namespace, _group_of(members[0]), [queued.info for queued in members])


def _group_of(queued: QueuedPod) -> str:
    group = queued.info.pod.spec.scheduling_group
    assert group is not None, f"pod {queued.info.key} belongs to no group"
    return group.pod_group_name
