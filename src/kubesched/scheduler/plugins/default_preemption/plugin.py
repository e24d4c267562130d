"""The extension points of DefaultPreemption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubesched.config.behaviours import FIRST_BROKEN_BUDGET_DECIDES, PREEMPTION_NAMES_ITS_CHOICE
from kubesched.config.plugin_args import DefaultPreemptionArgs
from kubesched.errors import ClientError, KubeschedError
from kubesched.objects import Pod, PodDisruptionBudget, PodGroup
from kubesched.objects.requirements import aggregate
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
    NominatingInfo,
    PodGroupDryRun,
    PodGroupPostFilterPlugin,
    PodInfo,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
    Resource,
    Status,
    Victims,
)
from kubesched.scheduler.framework.diagnosis import none_available
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.choice import cheapest
from kubesched.scheduler.plugins.default_preemption.dry_run import DryRun, Found
from kubesched.scheduler.plugins.default_preemption.eligibility import obstacle
from kubesched.scheduler.plugins.default_preemption.eviction import Evictions
from kubesched.scheduler.plugins.default_preemption.extenders import ask_extenders
from kubesched.scheduler.plugins.default_preemption.group_search import search
from kubesched.scheduler.plugins.default_preemption.preemptor import Preemptor

NAME: Final = "DefaultPreemption"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NO_CANDIDATE: Final = "no candidate node for preemption"
STILL_EVICTING: Final = "waiting for the preemption for this pod to be finished"
GROUP_STILL_EVICTING: Final = "waiting for the preemption for this pod group to be finished"
NO_POD_GROUP: Final = "pod group for pod not found"
PLACED_AS_GROUP: Final = "not eligible due to placement-based pod group scheduling limitation"
PREEMPTS_AS_GROUP: Final = "not eligible due to workload aware preemption enabled"
EVERYWHERE: Final = "cluster"
"""The name that a group's evictions give as their node."""

_CLEARED: Final = PostFilterResult(NominatingInfo(""))

Answer = tuple[PostFilterResult | None, Status]


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin, PodGroupPostFilterPlugin):
    """If no node takes a pod, make room on one by evicting pods of lower priority, as few and as cheap as possible."""

    name = NAME

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        self._args = args or DefaultPreemptionArgs()
        self._handle = handle
        self._is_async = handle.gates.enabled("SchedulerAsyncPreemption")
        self._for_groups = handle.gates.enabled("WorkloadAwarePreemption")
        self._groups = handle.objects.of(PodGroup)
        self._budgets = Budgets(
            handle.objects.of(PodDisruptionBudget),
            first_decides=handle.gates.follows(FIRST_BROKEN_BUDGET_DECIDES),
        )
        self._evictions = Evictions(handle, NAME)

    def events_to_register(self) -> Sequence[EventHint]:
        """A pod that waits for its evictions was rejected by other plugins before: they know when to try again."""
        if not self._is_async:
            return ()
        return (EventHint(ClusterEvent(Resource.POD, Action.DELETE), _never_by_itself, per_template=True),)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        member_of = pod.pod.spec.scheduling_group
        if member_of is None or not self._for_groups:
            return Status.unresolvable(STILL_EVICTING) if self._evictions.is_running(pod.uid) else SUCCESS
        group = self._groups.get(member_of.pod_group_name, pod.pod.metadata.namespace)
        is_evicting = group is not None and self._evictions.is_running(group.metadata.uid)
        return Status.unresolvable(GROUP_STILL_EVICTING) if is_evicting else SUCCESS

    async def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> Answer:
        self._handle.preemption_observer.attempted()
        try:
            result, status = await self._preempt(state, pod, diagnosis)
        except KubeschedError as error:
            result, status = None, Status.failed(error)
        if status.reasons and not status.is_success:
            status = Status(status.code, (f"preemption: {status.message}",), error=status.error)
        return result, status

    async def pod_group_post_filter(self, group: PodGroup, pods: Sequence[PodInfo], dry_run: PodGroupDryRun) -> Status:
        preemptor = Preemptor.of_group(group, pods)
        victims, status = await search(preemptor, self._groups, self._budgets, dry_run)
        if not status.is_success:
            return status
        if not any(self._newest(pod) for pod in pods):
            return Status.failed(f"no pod of pod group {preemptor.key} is left")
        try:
            await self._evict(preemptor, EVERYWHERE, victims)
        except ClientError as error:
            return Status.failed(error)
        return SUCCESS

    def dry_run(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[Mapping[str, Victims], Mapping[str, Victims]]:
        """All candidates, and those that are equally good in the end. Nothing is changed; extenders are not asked."""
        if self._obstacle(pod, diagnosis):
            return {}, {}
        candidates = self._search(state, pod, diagnosis, exhaustive=True).candidates
        return candidates, cheapest(candidates)

    def status_of(self, node_name: str, victims: Victims) -> Status:
        """The answer of PostFilter if it takes this candidate."""
        if not self._handle.gates.follows(PREEMPTION_NAMES_ITS_CHOICE):
            return SUCCESS
        choice = f"found a potential placement for pod on node {node_name}, preempting {len(victims.pods)} victims"
        return Status(Code.SUCCESS, (f"preemption: {choice}",))

    async def _preempt(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> Answer:
        if problem := self._obstacle(pod, diagnosis):
            return None, Status.unschedulable(problem)
        found = self._search(state, pod, diagnosis)
        if not found.candidates:
            return self._no_candidates(found)
        handle = self._handle
        candidates = await ask_extenders(handle.extenders, handle.cluster, pod.pod, found.candidates)
        best = cheapest(candidates)
        if not best:
            return None, Status.unschedulable(NO_CANDIDATE)
        if self._newest(pod) is None:
            return None, Status.failed(f'pod "{pod.pod.metadata.name}" not found')
        node_name = handle.random.choice(list(best))
        victims = best[node_name]
        await self._evict(Preemptor.of_pod(pod), node_name, victims)
        return PostFilterResult(NominatingInfo(node_name)), self.status_of(node_name, victims)

    async def _evict(self, preemptor: Preemptor, node_name: str, victims: Victims) -> None:
        """Raises ClientError, unless it goes on in the background."""
        if self._is_async:
            self._evictions.start(preemptor, node_name, victims)
        else:
            await self._evictions.perform(preemptor, node_name, victims)

    def _newest(self, pod: PodInfo) -> Pod | None:
        """None if the pod is gone, as it may be once others had a turn: nobody must be evicted for it then."""
        return self._handle.objects.of(Pod).get(pod.pod.metadata.name, pod.pod.metadata.namespace)

    def _obstacle(self, pod: PodInfo, diagnosis: Diagnosis) -> str:
        """Why the pod must not preempt anybody now."""
        newest = self._newest(pod) or pod.pod
        return self._obstacle_of_group(newest) or obstacle(newest, diagnosis.statuses, self._handle.cluster)

    def _obstacle_of_group(self, pod: Pod) -> str:
        """Pods of a group that is placed, or that preempts, as a whole do not preempt one by one."""
        group = pod.spec.scheduling_group
        if group is None:
            return ""
        if self._handle.gates.enabled("TopologyAwareWorkloadScheduling"):
            known = self._groups.get(group.pod_group_name or "", pod.metadata.namespace)
            if known is None:
                return NO_POD_GROUP
            if known.spec.scheduling_constraints is not None:
                return PLACED_AS_GROUP
        return PREEMPTS_AS_GROUP if self._for_groups else ""

    def _search(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis, *, exhaustive: bool = False) -> Found:
        rows = diagnosis.statuses.rows_open_to_preemption(self._handle.cluster)
        if not len(rows):
            return Found()
        dry_run = DryRun(self._handle, self._budgets, state, pod)
        if exhaustive:
            return dry_run.search(rows, start=0, enough=len(rows))
        start = self._handle.random.randrange(len(rows))
        return dry_run.search(rows, start=start, enough=self._candidates_wanted(len(rows)))

    def _candidates_wanted(self, nodes: int) -> int:
        args = self._args
        wanted = max(nodes * args.min_candidate_nodes_percentage // 100, args.min_candidate_nodes_absolute)
        return max(1, min(wanted, nodes))

    def _no_candidates(self, found: Found) -> Answer:
        """Nobody to evict would help: the claim on a node, if there was one, is given up."""
        if found.errors:
            return None, Status.failed(aggregate(found.errors))
        node_count = self._handle.cluster.nodes.node_count
        reasons = found.reasons.copy()
        if not_asked := node_count - found.asked:
            reasons[NOT_HELPFUL] += not_asked
        return _CLEARED, Status.unschedulable(none_available(node_count, reasons))


def _never_by_itself(pod: PodInfo, old: Any, new: Any) -> Hint:
    return Hint.SKIP
