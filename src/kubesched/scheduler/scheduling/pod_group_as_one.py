"""Can a whole group be placed? As Kubernetes 1.37 has it: after every pod, plugins say whether the group still can.

No pod preempts by itself, and Permit is asked only when pods are bound. `pod_group_trial` is what 1.36 did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import numpy as np

from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.framework import (
    Code,
    ObjectStore,
    PlacementProgress,
    PodGroupInfo,
    PodGroupStates,
    QueuedPod,
    Status,
)
from kubesched.scheduler.scheduling.node_subset import NodeSubset
from kubesched.scheduler.scheduling.pod_group_trial import GROUP_UNSCHEDULABLE, GroupResult, GroupTrial, PodResult
from kubesched.scheduler.scheduling.scheduling_cycle import Decision, Rejected

PREEMPT_LOWER: Final = "PreemptLowerPriority"


class TrialAsOne(GroupTrial):
    """One profile's trials (podGroupSchedulingDefaultAlgorithm)."""

    async def run(self, group: PodGroupInfo, members: Sequence[QueuedPod], *, preempts: bool = False) -> GroupResult:
        """Try the group. Somebody must get a node: of a group that has enough already, too."""
        result = await super().run(group, members, preempts=False)
        if result.status.is_success and not result.nodes:
            result.status = Status.unschedulable(GROUP_UNSCHEDULABLE)
        return result

    async def run_within(
        self, group: PodGroupInfo, members: Sequence[QueuedPod], within: NodeSubset | None, *, preempts: bool = False
    ) -> GroupResult:
        """Try the pods one after the other, until it is clear that there is no way."""
        known = self._profile.handle.pod_groups.get(group.namespace, group.name)
        progress = PlacementProgress(len(members), known.scheduled_count if known is not None else 0)
        status = self._feasible(group, progress)
        if status.code is Code.UNSCHEDULABLE:
            return GroupResult(Status.unschedulable(GROUP_UNSCHEDULABLE, *status.reasons))
        result = GroupResult(status)
        if status.code is Code.ERROR:
            return result
        with self._hypothetically() as assumed:
            for queued in members:
                tried = await self._try_next(queued, within, assumed)
                result.pods.append(tried)
                if tried.rejected is not None and not tried.rejected.status.is_rejection:
                    problem = f"failed to schedule other pod from a pod group: {tried.rejected.status.message}"
                    result.status = Status.failed(problem)
                    break
                is_placed = int(tried.decision is not None)
                progress = PlacementProgress(progress.remaining - 1, progress.scheduled + is_placed)
                result.status = self._feasible(group, progress)
                if result.status.code in (Code.UNSCHEDULABLE, Code.ERROR):
                    break
        if result.status.is_wait:
            result.status = Status.unschedulable(GROUP_UNSCHEDULABLE, *result.status.reasons)
        return result

    async def can_repeat(self, result: GroupResult) -> bool:
        """Whether every pod would get the node again that it got then."""
        with self._hypothetically() as assumed:
            for pod in result.pods:
                if pod.decision is None:
                    continue
                row = self._cluster.nodes.row_of.get(pod.decision.node_name)
                if row is None:
                    return False
                there = NodeSubset(self._cluster.view(np.array([row], dtype=np.intp)))
                if (await self._try_next(pod.queued, there, assumed)).decision is None:
                    return False
        return True

    def _feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        status = self._profile.placements.feasible(group, progress)
        if status.code is Code.ERROR:
            return Status.failed(f"failed to evaluate placement feasibility: {status.message}")
        return status

    async def _try_next(
        self, queued: QueuedPod, within: NodeSubset | None, assumed: list[tuple[QueuedPod, Decision]]
    ) -> PodResult:
        """`assumed` are the pods before it; it is added if it gets a node."""
        placed = {other.uid for other, _ in assumed}
        tried = await self._try(queued, within, placed, preempts=False)
        if tried.decision is not None:
            assumed.append((queued, tried.decision))
        return tried

    def _assume(self, queued: QueuedPod, decision: Decision | Rejected) -> PodResult:
        if isinstance(decision, Rejected):
            # Whether it keeps its nomination is decided for the whole group.
            nominating = decision.nominating if decision.diagnosis is None else None
            return PodResult(queued, rejected=replace(decision, nominating=nominating))
        refused = self._cycle.assume_and_reserve(queued, decision)
        return PodResult(queued, decision) if refused is None else PodResult(queued, rejected=refused)

    @contextmanager
    def _hypothetically(self) -> Iterator[list[tuple[QueuedPod, Decision]]]:
        assumed: list[tuple[QueuedPod, Decision]] = []
        try:
            yield assumed
        finally:
            for queued, decision in reversed(assumed):
                self._revert(queued, decision)

    @staticmethod
    def _nowhere(placements: int, first: Status) -> Status:
        # The first reason alone, where the group as such is unschedulable (Status.AsError upstream).
        why = GROUP_UNSCHEDULABLE if first.reasons[:1] == (GROUP_UNSCHEDULABLE,) else first.message
        problem = f"0/{placements} placements are available, first placement status: {why}"
        return Status.unschedulable(GROUP_UNSCHEDULABLE, problem)


class GroupRules:
    """Which pods may be decided on together (validatePodGroup).

    With `own_policy`, the group says whether it preempts (gate PodGroupPreemptionPolicy); else its first pod does.
    """

    def __init__(self, groups: ObjectStore[PodGroup], states: PodGroupStates, *, own_policy: bool) -> None:
        self._groups = groups
        self._states = states
        self._own_policy = own_policy

    def problem_of(self, members: Sequence[QueuedPod]) -> str:
        """What is wrong with pods of one group that are to be decided on; empty if nothing is."""
        first = members[0].info.pod
        name = first.spec.scheduling_group.pod_group_name if first.spec.scheduling_group is not None else ""
        group = self._groups.get(name, first.metadata.namespace)
        if group is None:
            return f'podgroup.scheduling.k8s.io "{name}" not found'
        state = self._states.get(first.metadata.namespace, name)
        placed = state.scheduled() if state is not None else ()
        policy = (group.spec.preemption_policy or PREEMPT_LOWER) if self._own_policy else _policy_of(first)
        for pod in (*(queued.info.pod for queued in members), *(info.pod for info in placed)):
            if problem := self._problem_with(pod, first.spec.scheduler_name, group.priority, policy):
                return f"all pods in a single pod group should have the same {problem}"
        return ""

    def _problem_with(self, pod: Pod, scheduler: str, priority: int, policy: str) -> str:
        if pod.spec.scheduler_name != scheduler:
            return f'.spec.schedulerName set, got: "{pod.spec.scheduler_name}" and "{scheduler}"'
        if pod.priority != priority:
            return f"priority as the pod group's priority, got {pod.priority} and {priority}"
        if _policy_of(pod) != policy:
            whose = " as the pod group's preemption policy" if self._own_policy else ""
            return f"preemption policy{whose}, got {_policy_of(pod)} and {policy}"
        return ""


def _policy_of(pod: Pod) -> str:
    return pod.spec.preemption_policy or PREEMPT_LOWER
