"""The extension points of DefaultPreemption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubesched.config.behaviours import (
    GROUPS_ARE_DECIDED_AS_ONE,
)
from kubesched.config.plugin_args import DefaultPreemptionArgs
from kubesched.errors import ClientError
from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.columns import Positions
from kubesched.scheduler.framework import (
    SUCCESS,
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Diagnosis,
    EventHint,
    Handle,
    Hint,
    Nominations,
    Plugin,
    PodGroupDryRun,
    PodGroupPostFilterPlugin,
    PodInfo,
    PreEnqueuePlugin,
    Resource,
    Status,
    Victims,
)
from kubesched.scheduler.plugins.default_preemption.dry_run import Found
from kubesched.scheduler.plugins.default_preemption.eligibility import (
    NEVER,
    POLICY_NEVER,
    is_terminating_by_preemption,
)
from kubesched.scheduler.plugins.default_preemption.group_dry_run import GroupAwareDryRun
from kubesched.scheduler.plugins.default_preemption.group_search import search, search_as_one
from kubesched.scheduler.plugins.default_preemption.preemption import Preemption
from kubesched.scheduler.plugins.default_preemption.preemptor import Preemptor
from kubesched.scheduler.plugins.default_preemption.victim_units import units_with_groups

NAME: Final = "DefaultPreemption"
STILL_EVICTING: Final = "waiting for the preemption for this pod to be finished"
GROUP_STILL_EVICTING: Final = "waiting for the preemption for this pod group to be finished"
NO_POD_GROUP: Final = "pod group for pod not found"
PLACED_AS_GROUP: Final = "not eligible due to placement-based pod group scheduling limitation"
PREEMPTS_AS_GROUP: Final = "not eligible due to workload aware preemption enabled"
ONGOING: Final = "ongoing preemption on nominated nodes"
EVERYWHERE: Final = "cluster"
"""The name that a group's evictions give as their node."""


class DefaultPreemption(PreEnqueuePlugin, Preemption, PodGroupPostFilterPlugin):
    """If no node takes a pod, make room on one by evicting pods of lower priority, as few and as cheap as possible."""

    name = NAME
    message_prefix = "preemption: "

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self.evicts_beside = handle.gates.enabled("SchedulerAsyncPreemption")
        self._for_groups = handle.gates.enabled("WorkloadAwarePreemption")
        self._as_one = self._for_groups and handle.gates.follows(GROUPS_ARE_DECIDED_AS_ONE)
        self._groups = handle.objects.of(PodGroup)

    def take_over(self, previous: Plugin) -> None:
        """Evictions that are under way go on."""
        if isinstance(previous, DefaultPreemption):
            self._evictions = previous._evictions

    def events_to_register(self) -> Sequence[EventHint]:
        """A pod that waits for its evictions was rejected by other plugins before: they know when to try again."""
        if not self.evicts_beside:
            return ()
        return (EventHint(ClusterEvent(Resource.POD, Action.DELETE), _never_by_itself, per_template=True),)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        member_of = pod.pod.spec.scheduling_group
        if member_of is None or not self._for_groups:
            return Status.unresolvable(STILL_EVICTING) if self._evictions.keeps_out(pod.uid) else SUCCESS
        group = self._groups.get(member_of.pod_group_name, pod.pod.metadata.namespace)
        is_evicting = group is not None and self._evictions.keeps_out(group.metadata.uid)
        return Status.unresolvable(GROUP_STILL_EVICTING) if is_evicting else SUCCESS

    async def pod_group_post_filter(
        self, group: PodGroup, pods: Sequence[PodInfo], dry_run: PodGroupDryRun
    ) -> tuple[Nominations, Status]:
        if not self._as_one:
            victims, status = await search(Preemptor.of_group(group, pods), self._groups, self.budgets, dry_run)
            return {}, await self._evict_for_group(group, pods, victims) if status.is_success else status
        nominations, status = await self._preempt_for_group(group, pods, dry_run)
        self.handle.preemption_observer.attempted_for_group(str(status.code))
        if status.reasons:
            status = Status(status.code, (f"pod group preemption: {status.message}",), error=status.error)
        return nominations, status

    async def _preempt_for_group(
        self, group: PodGroup, pods: Sequence[PodInfo], dry_run: PodGroupDryRun
    ) -> tuple[Nominations, Status]:
        """Find victims for a group that is decided on as one, and evict them."""
        if self._never_preempts(group, pods):
            return {}, Status.unschedulable(POLICY_NEVER)
        if self._is_preempting(group, pods):
            waiting = {info.uid: info.pod.status.nominated_node_name for info in pods}
            return waiting, Status(Code.SUCCESS, (ONGOING,))
        states, clock = self.handle.pod_groups, self.handle.clock
        preemptor, started = Preemptor.of_group(group, pods), clock.monotonic()
        victims, status = await search_as_one(preemptor, self._groups, states, self.budgets, dry_run)
        self.handle.preemption_observer.evaluated(preemptor.what, str(status.code), clock.monotonic() - started)
        if not status.is_success:
            return {}, status
        nominations = dict(dry_run.nodes)
        status = await self._evict_for_group(group, pods, victims)
        found = f"found a placement for podgroup, preempting {len(victims.pods)} victims"
        return nominations, Status(Code.SUCCESS, (found,)) if status.is_success else status

    def _never_preempts(self, group: PodGroup, pods: Sequence[PodInfo]) -> bool:
        if self.handle.gates.enabled("PodGroupPreemptionPolicy"):
            return group.spec.preemption_policy == NEVER
        return any(info.pod.spec.preemption_policy == NEVER for info in pods)

    def _is_preempting(self, group: PodGroup, pods: Sequence[PodInfo]) -> bool:
        """Whether a victim is on its way out on a node that a pod of the group waits for."""
        cluster = self.handle.cluster
        awaited = {info.pod.status.nominated_node_name for info in pods}
        rows = [row for name in awaited if (row := cluster.nodes.row_of.get(name)) is not None]
        leaving = [info for row in rows for info in cluster.pods.on_node(row) if is_terminating_by_preemption(info.pod)]
        victims = units_with_groups(leaving, self._groups, self.handle.pod_groups)
        return any(unit.priority < group.priority for unit in victims)

    async def _evict_for_group(self, group: PodGroup, pods: Sequence[PodInfo], victims: Victims) -> Status:
        preemptor = Preemptor.of_group(group, pods)
        if not any(self._newest(pod) for pod in pods):
            return Status.failed(f"no pod of pod group {preemptor.key} is left")
        try:
            await self._evict(preemptor, EVERYWHERE, victims)
        except ClientError as error:
            return Status.failed(error)
        return SUCCESS

    def obstacle(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> str:
        return self._obstacle_of_group(pod) or super().obstacle(state, pod, diagnosis)

    def _obstacle_of_group(self, pod: Pod) -> str:
        """Pods of a group that is placed, or that preempts, as a whole do not preempt one by one."""
        group = pod.spec.scheduling_group
        if group is None:
            return ""
        if self.handle.gates.enabled("TopologyAwareWorkloadScheduling"):
            known = self._groups.get(group.pod_group_name or "", pod.metadata.namespace)
            if known is None:
                return NO_POD_GROUP
            if known.spec.scheduling_constraints is not None:
                return PLACED_AS_GROUP
        return PREEMPTS_AS_GROUP if self._for_groups else ""

    def find_candidates(self, state: CycleState, pod: PodInfo, rows: Positions, *, start: int, enough: int) -> Found:
        if not (self._as_one and len(self._groups)):
            return super().find_candidates(state, pod, rows, start=start, enough=enough)
        dry_run = GroupAwareDryRun(self.handle, self.budgets, self, state, pod)
        return dry_run.search(rows, start=start, enough=enough)


def _never_by_itself(pod: PodInfo, old: Any, new: Any) -> Hint:
    return Hint.SKIP
