"""Preemption: what DefaultPreemption does for a pod, with the rules that other plugins may change.

class OnlyBatch(Preemption):
    name = "OnlyBatch"

    def may_evict(self, state, pod, placed):
        infos = self.handle.cluster.pods.infos
        is_batch = [infos[row].template.labels.get("kind") == "batch" for row in placed]
        return super().may_evict(state, pod, placed) & is_batch
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from kubesched.config.behaviours import FIRST_BROKEN_BUDGET_DECIDES, PREEMPTION_NAMES_ITS_CHOICE
from kubesched.config.plugin_args import DefaultPreemptionArgs
from kubesched.errors import KubeschedError
from kubesched.objects import Pod, PodDisruptionBudget
from kubesched.objects.requirements import aggregate
from kubesched.scheduler.columns import Booleans, NodeView, PodInfo, Positions
from kubesched.scheduler.framework import (
    SUCCESS,
    Code,
    CycleState,
    Diagnosis,
    Handle,
    NominatingInfo,
    PostFilterPlugin,
    PostFilterResult,
    Status,
    Victims,
)
from kubesched.scheduler.framework.diagnosis import none_available
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.choice import cheapest
from kubesched.scheduler.plugins.default_preemption.dry_run import NO_VICTIMS, DryRun, Found
from kubesched.scheduler.plugins.default_preemption.eligibility import obstacle
from kubesched.scheduler.plugins.default_preemption.eviction import Evictions
from kubesched.scheduler.plugins.default_preemption.extenders import ask_extenders
from kubesched.scheduler.plugins.default_preemption.preemptor import Preemptor

NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NO_CANDIDATE: Final = "no candidate node for preemption"

_CLEARED: Final = PostFilterResult(NominatingInfo(""))

Answer = tuple[PostFilterResult | None, Status]


class Preemption(PostFilterPlugin):
    """If no node takes a pod, make room on one by evicting others, as few and as cheap as possible.

    Whom it may evict, and for whom, are rules that a plugin may replace: `may_evict` and `obstacle`.
    """

    message_prefix = ""
    """What its answers begin with."""
    evicts_beside = False
    """Whether the scheduling of other pods goes on while victims are being deleted (SchedulerAsyncPreemption)."""

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        self._args = args or DefaultPreemptionArgs()
        self.handle = handle
        self.budgets = Budgets(
            handle.objects.of(PodDisruptionBudget),
            first_decides=handle.gates.follows(FIRST_BROKEN_BUDGET_DECIDES),
        )
        self._evictions = Evictions(handle, self.name)

    # ---- the rules -----------------------------------------------------------------------------------------------

    def may_evict(self, state: CycleState, pod: PodInfo, placed: Positions) -> Booleans:
        """Which of these placed pods (rows of the pod table) may be evicted for `pod`: those of lower priority."""
        return self.handle.cluster.pods.priority[placed] < pod.priority

    def obstacle(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> str:
        """Why the pod must not preempt anybody now; empty if it may."""
        return obstacle(pod, diagnosis.statuses, self.handle.cluster)

    def no_victims(self, pod: Pod, nodes: NodeView) -> Counter[str]:
        """Why nodes on which nobody may be evicted are no candidates: each reason with the number of nodes."""
        return Counter({NO_VICTIMS: len(nodes)})

    def find_candidates(self, state: CycleState, pod: PodInfo, rows: Positions, *, start: int, enough: int) -> Found:
        """Nodes among these rows on which evicting somebody helps, from the `start`-th on, until there are `enough`."""
        return DryRun(self.handle, self.budgets, self, state, pod).search(rows, start=start, enough=enough)

    # ---- one pod's preemption ------------------------------------------------------------------------------------

    async def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> Answer:
        self.handle.preemption_observer.attempted()
        try:
            result, status = await self._preempt(state, pod, diagnosis)
        except KubeschedError as error:
            result, status = None, Status.failed(error)
        if self.message_prefix and status.reasons and not status.is_success:
            status = Status(status.code, (f"{self.message_prefix}{status.message}",), error=status.error)
        return result, status

    def dry_run(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[Mapping[str, Victims], Mapping[str, Victims]]:
        """All candidates, and those that are equally good in the end. Nothing is changed; extenders are not asked.

        The pod counts as it is given here, not as the API server has it: it may be a hypothetical one.
        """
        if self.obstacle(state, pod.pod, diagnosis):
            return {}, {}
        candidates = self._search(state, pod, diagnosis, exhaustive=True).candidates
        return candidates, cheapest(candidates)

    def status_of(self, node_name: str, victims: Victims) -> Status:
        """The answer of PostFilter if it takes this candidate."""
        if not self.handle.gates.follows(PREEMPTION_NAMES_ITS_CHOICE):
            return SUCCESS
        choice = f"found a potential placement for pod on node {node_name}, preempting {len(victims.pods)} victims"
        return Status(Code.SUCCESS, (f"{self.message_prefix}{choice}",))

    async def _preempt(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> Answer:
        if problem := self.obstacle(state, self._newest(pod) or pod.pod, diagnosis):
            return None, Status.unschedulable(problem)
        started = self.handle.clock.monotonic()
        found = self._search(state, pod, diagnosis)
        result = Code.SUCCESS if found.candidates else Code.ERROR if found.errors else Code.UNSCHEDULABLE
        self.handle.preemption_observer.evaluated("pod", str(result), self.handle.clock.monotonic() - started)
        if not found.candidates:
            return self._no_candidates(found)
        handle = self.handle
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
        if self.evicts_beside:
            self._evictions.start(preemptor, node_name, victims)
        else:
            await self._evictions.perform(preemptor, node_name, victims)

    def _newest(self, pod: PodInfo) -> Pod | None:
        """None if the pod is gone, as it may be once others had a turn: nobody must be evicted for it then."""
        return self.handle.objects.of(Pod).get(pod.pod.metadata.name, pod.pod.metadata.namespace)

    def _search(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis, *, exhaustive: bool = False) -> Found:
        rows = diagnosis.statuses.rows_open_to_preemption(self.handle.cluster)
        if not len(rows):
            return Found()
        if exhaustive:
            return self.find_candidates(state, pod, rows, start=0, enough=len(rows))
        start = self.handle.random.randrange(len(rows))
        return self.find_candidates(state, pod, rows, start=start, enough=self._candidates_wanted(len(rows)))

    def _candidates_wanted(self, nodes: int) -> int:
        args = self._args
        wanted = max(nodes * args.min_candidate_nodes_percentage // 100, args.min_candidate_nodes_absolute)
        return max(1, min(wanted, nodes))

    def _no_candidates(self, found: Found) -> Answer:
        """Nobody to evict would help: the claim on a node, if there was one, is given up."""
        if found.errors:
            return None, Status.failed(aggregate(found.errors))
        node_count = self.handle.cluster.nodes.node_count
        reasons = found.reasons.copy()
        if not_asked := node_count - found.asked:
            reasons[NOT_HELPFUL] += not_asked
        return _CLEARED, Status.unschedulable(none_available(node_count, reasons))
