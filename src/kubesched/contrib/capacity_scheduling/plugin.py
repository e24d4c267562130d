"""The extension points of CapacityScheduling."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple

from kubesched.contrib.capacity_scheduling.amounts import Amounts, add, request_of
from kubesched.contrib.capacity_scheduling.elastic_quota import ElasticQuota
from kubesched.contrib.capacity_scheduling.giving_back import Search
from kubesched.contrib.capacity_scheduling.quotas import Quota, Quotas, all_exceed_min_with
from kubesched.framework import (
    SUCCESS,
    Action,
    Candidates,
    ClusterEvent,
    Code,
    CycleState,
    DependsOn,
    Diagnosis,
    EventHint,
    Handle,
    NodeView,
    Plugin,
    Pod,
    PodInfo,
    PodTemplate,
    Positions,
    Preemption,
    PreFilterPlugin,
    ReservePlugin,
    Resource,
    Status,
)

NAME: Final = "CapacityScheduling"
POLICY_NEVER: Final = "not eligible due to preemptionPolicy=Never."
VICTIM_TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
NOT_READ: Final = "not eligible due to failed to read from cycleState"


class Demand(NamedTuple):
    """What a pod asks for; with more important nominated pods of its namespace; and with those of others that may."""

    pod: Amounts
    in_namespace: Amounts
    everywhere: Amounts


class CapacityScheduling(PreFilterPlugin, Preemption, ReservePlugin):
    """Pods may exceed the min of their namespace while all quotas together have something left; its max, never."""

    name = NAME

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(None, handle)
        self._quotas = Quotas(handle)

    def take_over(self, previous: Plugin) -> None:
        if isinstance(previous, CapacityScheduling):
            self._quotas.take_over(previous._quotas)

    # ---- what answers depend on ----------------------------------------------------------------------------------

    def concerns(self, pod: PodTemplate) -> bool:
        return True

    def depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return DependsOn.ANYTHING if pod.namespace in self._quotas.all() else DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        request = tuple(sorted(request_of(pod).items()))
        return (pod.namespace, request, pod.priority) if pod.namespace in self._quotas.all() else "no quota"

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._quotas.version

    def events_to_register(self) -> Sequence[EventHint]:
        return [EventHint(ClusterEvent(Resource.POD, Action.DELETE)), EventHint(ClusterEvent.of(ElasticQuota))]

    # ---- one pod -------------------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        quotas = self._quotas.all()
        quota = quotas.get(pod.template.namespace)
        demand = self._demand(pod, quota)
        state.write(NAME, demand)
        if quota is None:
            return SUCCESS
        if quota.exceeds_max_with(demand.in_namespace):
            namespace = pod.template.namespace
            return Status.unschedulable(
                f"Pod {pod.key} is rejected in PreFilter because ElasticQuota {namespace} is more than Max"
            )
        if all_exceed_min_with(quotas, demand.everywhere):
            return Status.unschedulable(
                f"Pod {pod.key} is rejected in PreFilter because total ElasticQuota used is more than min"
            )
        return SUCCESS

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self._quotas.count(pod)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._quotas.drop(pod)

    def _demand(self, pod: PodInfo, quota: Quota | None) -> Demand:
        """Nominated pods of other namespaces count while those take no more than their min."""
        asked = request_of(pod.template)
        demand = Demand(asked, {}, {})
        if quota is None:
            return demand
        quotas, rows = self._quotas.all(), self.handle.cluster.nodes.row_of
        for uid, nomination in self.handle.nominator.nominations.items():
            other = nomination.pod.template
            other_quota = quotas.get(other.namespace)
            if uid == pod.uid or other_quota is None or nomination.node_name not in rows:
                continue
            if other.namespace == pod.template.namespace:
                if other.priority >= pod.priority:
                    add(demand.in_namespace, request_of(other))
                    add(demand.everywhere, request_of(other))
            elif not other_quota.exceeds_min():
                add(demand.everywhere, request_of(other))
        add(demand.in_namespace, asked)
        add(demand.everywhere, asked)
        return demand

    # ---- preemption ----------------------------------------------------------------------------------------------

    def obstacle(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> str:
        if pod.spec.preemption_policy == "Never":
            return POLICY_NEVER
        demand: Demand | None = state.get(NAME)
        if demand is None:
            return NOT_READ
        statuses, nominated = diagnosis.statuses, pod.status.nominated_node_name
        row = self.handle.cluster.nodes.row_of.get(nominated) if nominated else None
        if row is None or statuses.get(nominated, statuses.absent).code is Code.UNRESOLVABLE:
            return ""
        on_node = self.handle.cluster.pods.on_node(row)
        leaving = any(self._makes_room(other, pod, demand) for other in on_node if other.pod.is_terminating)
        return VICTIM_TERMINATING if leaving else ""

    def _makes_room(self, other: PodInfo, pod: Pod, demand: Demand) -> bool:
        """Whether a pod that is leaving may have been evicted for this one."""
        quotas, namespace = self._quotas.all(), other.template.namespace
        own, others = quotas.get(pod.metadata.namespace), quotas.get(namespace)
        if own is None:
            return others is None and other.priority < pod.priority
        if others is None:
            return False
        if namespace == pod.metadata.namespace:
            return other.priority < pod.priority
        return not own.exceeds_min_with(demand.in_namespace) and others.exceeds_min()

    def find_candidates(
        self, state: CycleState, pod: PodInfo, rows: Positions, *, start: int, enough: int
    ) -> Candidates:
        """All nodes are tried."""
        demand: Demand | None = state.get(NAME)
        if demand is None:
            return Candidates()
        return Search(self.handle, self.budgets, self._quotas.all(), state, pod, demand).candidates(rows)
