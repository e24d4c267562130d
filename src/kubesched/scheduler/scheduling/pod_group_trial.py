"""Can a whole group be placed? Each pod gets its node hypothetically, so that the next one sees it there.

Then all is undone. The nodes and the cache are the real ones: nothing else runs in the meantime, unless an extender
is asked.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from kubesched.clock import Clock
from kubesched.errors import PluginError
from kubesched.scheduler.framework import (
    SUCCESS,
    ClusterTables,
    NominatingInfo,
    Nominations,
    Placement,
    PodGroupAssignments,
    PodGroupInfo,
    QueuedPod,
    Status,
)
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.runtime.timed_points import points_of
from kubesched.scheduler.scheduling.node_subset import NodeSubset
from kubesched.scheduler.scheduling.observer import AttemptObserver
from kubesched.scheduler.scheduling.scheduling_cycle import Decision, Rejected, SchedulingCycle, rejected_on

GROUP_UNSCHEDULABLE: Final = "pod group is unschedulable"
WAITING_ON_PREEMPTION: Final = "pod group is waiting for preemption to complete"


@dataclass(frozen=True, slots=True)
class PodResult:
    """What a pod of the group got. With both a decision and a rejection: that node, once its victims are gone."""

    queued: QueuedPod
    decision: Decision | None = None
    rejected: Rejected | None = None
    permit: Status = SUCCESS
    seconds: float = 0.0
    """How long it took."""

    @property
    def requires_preemption(self) -> bool:
        return self.decision is not None and self.rejected is not None


@dataclass(slots=True)
class GroupResult:
    """`status` is a success if the pods that fit may be bound, a rejection if none may, else an error.

    `pods` may end early: the rest of the group was not tried.
    """

    status: Status
    pods: list[PodResult] = field(default_factory=list)
    waits_for_preemption: bool = False
    nominations: Nominations = field(default_factory=dict)

    @property
    def is_feasible(self) -> bool:
        return self.status.is_success or self.waits_for_preemption

    @property
    def nodes(self) -> dict[str, str]:
        """The node of each pod that got one, by uid."""
        return {pod.queued.uid: pod.decision.node_name for pod in self.pods if pod.decision is not None}


class GroupTrial:
    """One profile's trials."""

    def __init__(
        self,
        profile: Profile,
        cycle: SchedulingCycle,
        cluster: ClusterTables,
        random: Random,
        clock: Clock,
        observer: AttemptObserver,
        *,
        topology_aware: bool,
    ) -> None:
        self._profile = profile
        self._cycle = cycle
        self._cluster = cluster
        self._random = random
        self._clock = clock
        self._observer = observer
        self._topology_aware = topology_aware

    async def run(self, group: PodGroupInfo, members: Sequence[QueuedPod], *, preempts: bool = True) -> GroupResult:
        """Try the group; with topology-aware scheduling in every placement that plugins offer, and take the best.

        Pods that do not fit make room for themselves, unless `preempts` is False.
        """
        if not self._topology_aware:
            return await self.run_within(group, members, None, preempts=preempts)
        everywhere = Placement("", self._cluster.view())
        placements, status = self._profile.placements.generate(group, everywhere)
        if not status.is_success:
            return GroupResult(status)
        results: list[GroupResult] = []
        for within in [None if placement is everywhere else NodeSubset(placement.nodes) for placement in placements]:
            result = await self.run_within(group, members, within, preempts=preempts)
            if not (result.is_feasible or result.status.is_rejection):
                return result
            results.append(result)
        feasible = [(p, result) for p, result in zip(placements, results, strict=True) if result.is_feasible]
        if not feasible:
            first = results[0]
            return GroupResult(self._nowhere(len(placements), first.status), first.pods)
        return self._best(group, feasible)

    @staticmethod
    def _nowhere(placements: int, first: Status) -> Status:
        problem = f"0/{placements} placements are available, first placement status: {GROUP_UNSCHEDULABLE}"
        return Status.unschedulable(problem)

    async def run_within(
        self, group: PodGroupInfo, members: Sequence[QueuedPod], within: NodeSubset | None, *, preempts: bool = True
    ) -> GroupResult:
        """Try the pods one after the other. A gang's Permit says whether enough of them got a node."""
        result = GroupResult(Status.unschedulable(GROUP_UNSCHEDULABLE))
        assumed: list[tuple[QueuedPod, Decision]] = []
        placed_group_members: set[str] = set()
        try:
            for queued in members:
                tried = await self._try(queued, within, placed_group_members, preempts=preempts)
                result.pods.append(tried)
                if tried.decision is not None:
                    assumed.append((queued, tried.decision))
                    placed_group_members.add(queued.uid)
                    self._count_in(result, tried)
                elif tried.rejected is not None and not tried.rejected.status.is_rejection:
                    problem = f"failed to schedule other pod from a pod group: {tried.rejected.status.message}"
                    result.status = Status.failed(problem)
                    result.waits_for_preemption = False
                    break
        finally:
            for queued, decision in reversed(assumed):
                self._revert(queued, decision)
        return result

    async def _try(
        self, queued: QueuedPod, within: NodeSubset | None, placed_group_members: Set[str], *, preempts: bool
    ) -> PodResult:
        started = self._clock.monotonic()
        decision = await self._cycle.decide(queued, within, preempts, placed_group_members)
        self._observer.algorithm_ran(self._clock.monotonic() - started)
        result = self._assume(queued, decision)
        return replace(result, seconds=self._clock.monotonic() - started)

    def _assume(self, queued: QueuedPod, decision: Decision | Rejected) -> PodResult:
        """The pod counts on its node, or on the one that it waits for, if nobody objects."""
        rejected: Rejected | None = None
        if isinstance(decision, Rejected):
            rejected = decision
            nominating = rejected.nominating
            if nominating is None or not nominating.node_name or rejected.state is None:
                return PodResult(queued, rejected=rejected)
            # Its victims are on their way out: the others must see it where it will be.
            decision = Decision(nominating.node_name, rejected.state, points_of(self._profile, rejected.state))
        refused = self._cycle.assume_and_reserve(queued, decision)
        if refused is not None:
            return PodResult(queued, rejected=refused)
        permit, _ = self._profile.ask_permit(decision.state, queued.info.pod, decision.node_name)
        if permit.is_success or permit.is_wait:
            return PodResult(queued, decision, rejected, permit)
        self._revert(queued, decision)
        return PodResult(queued, rejected=rejected_on(decision.node_name, permit))

    @staticmethod
    def _count_in(result: GroupResult, tried: PodResult) -> None:
        """A pod that Permit lets through makes the group feasible, with all that were tried before it."""
        if not tried.permit.is_success:
            return
        if any(pod.requires_preemption for pod in result.pods):
            result.status = Status.unschedulable(GROUP_UNSCHEDULABLE, WAITING_ON_PREEMPTION)
            result.waits_for_preemption = True
        else:
            result.status = SUCCESS

    def _revert(self, queued: QueuedPod, decision: Decision) -> None:
        self._cycle.undo(queued, decision)
        nominated = queued.info.pod.status.nominated_node_name
        if nominated:
            self._profile.handle.nominator.add(queued.info, NominatingInfo(nominated))

    def _best(self, group: PodGroupInfo, feasible: Sequence[tuple[Placement, GroupResult]]) -> GroupResult:
        if len(feasible) == 1:
            return feasible[0][1]
        assignments = [PodGroupAssignments(placement, result.nodes) for placement, result in feasible]
        try:
            totals = self._profile.placements.score(group, assignments)
        except PluginError as error:
            return GroupResult(Status.failed(error))
        best = max(totals)
        return self._random.choice([r for (_, r), total in zip(feasible, totals, strict=True) if total == best])
