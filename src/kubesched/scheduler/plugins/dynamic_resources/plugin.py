"""DynamicResources: a pod's claims for devices must be allocated on, and usable from, its node."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from datetime import timedelta
from typing import Final

import numpy as np

from kubesched.config.behaviours import SILENT_CLAIM_POST_FILTER
from kubesched.config.plugin_args import DynamicResourcesArgs
from kubesched.errors import ClientError, InvalidObjectError
from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.columns import Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    Code,
    CycleState,
    DependsOn,
    Diagnosis,
    EventHint,
    FilterPlugin,
    Handle,
    Nominations,
    PodChange,
    PodGroupDryRun,
    PodGroupPostFilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import without_each
from kubesched.scheduler.plugins.dynamic_resources.attempt import Attempt, score_of_allocated
from kubesched.scheduler.plugins.dynamic_resources.claim_writer import ClaimWriter
from kubesched.scheduler.plugins.dynamic_resources.claims import ClaimsNotReady
from kubesched.scheduler.plugins.dynamic_resources.devices import Devices
from kubesched.scheduler.plugins.dynamic_resources.extended_resources import is_in_memory
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.scheduler.plugins.dynamic_resources.filtering import ClaimFilter
from kubesched.scheduler.plugins.dynamic_resources.group_claims import GroupClaims
from kubesched.scheduler.plugins.dynamic_resources.hints import ClaimHints
from kubesched.scheduler.plugins.dynamic_resources.node_allocatable import with_statuses
from kubesched.scheduler.plugins.dynamic_resources.pre_binding import PreBinding
from kubesched.scheduler.plugins.dynamic_resources.pre_filtering import prepare, requested_extended_resources
from kubesched.scheduler.plugins.dynamic_resources.reserving import reserve, unreserve
from kubesched.scheduler.plugins.support.normalize import in_proportion
from kubesched.scheduler.plugins.support.per_template import PerRequests

NAME: Final = "DynamicResources"
_BINDING_TIMEOUT: Final = timedelta(minutes=10)


class DynamicResources(
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PodGroupPostFilterPlugin,
    ScorePlugin,
    ReservePlugin,
    PreBindPlugin,
):
    """Searches devices for claims while filtering, holds them in Reserve, and writes the allocation in PreBind."""

    name = NAME
    pre_binds_in_parallel = True

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        args = args or DynamicResourcesArgs()
        features = DeviceFeatures.of(handle.gates)
        self._handle = handle
        self._is_silent = handle.gates.follows(SILENT_CLAIM_POST_FILTER)
        self._devices = handle.objects.derived(
            Devices, lambda: Devices(handle.objects, handle.cluster, features, handle.clock)
        )
        self._hints = ClaimHints(self._devices)
        self._writer = ClaimWriter(handle.api, handle.clock, stamps=features.binding_conditions)
        self._timeout = (args.filter_timeout or timedelta()).total_seconds() if features.filter_timeout else 0.0
        self._binding_timeout = (args.binding_timeout or _BINDING_TIMEOUT).total_seconds()
        self.changes_assumed_pod = features.node_allocatable
        self._group_claims = GroupClaims(self._devices, handle.pod_groups, self._writer)
        self._pre_binding = PreBinding(handle, self._devices, self._writer, self._binding_timeout)
        self._may_mean_devices = PerRequests(lambda pod: bool(requested_extended_resources(pod)))

    def depends_on_for(self, pod: PodTemplate) -> DependsOn:
        """Only pods that may want devices need a look in every cycle."""
        return DependsOn.ANYTHING if self.concerns(pod) else DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        """All pods that want no devices are the same."""
        return None if self.concerns(pod) else ()

    def concerns(self, pod: PodTemplate) -> bool:
        if self._devices.features.group_claims and pod.spec.scheduling_group is not None:
            return True  # its group must be there, whether it has claims or not
        return bool(pod.spec.resource_claims) or self._may_mean_devices.of(pod)

    def events_to_register(self) -> Sequence[EventHint]:
        return self._hints.events()

    def pre_enqueue(self, pod: PodInfo) -> Status:
        if not pod.template.spec.resource_claims:
            return SUCCESS
        try:
            self._devices.claims_of(pod.pod)
        except ClaimsNotReady as reason:
            return Status.unresolvable(str(reason))
        return SUCCESS

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        attempt = Attempt()
        state.write(NAME, attempt)
        return prepare(attempt, pod, self._devices, state.placed_group_members)

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        attempt = state.read(NAME, Attempt)
        if not attempt.claims:
            return Verdict.fits(nodes)
        claim_filter = ClaimFilter(
            self._devices, attempt, state.pod.pod, self._handle, self._timeout, self._binding_timeout
        )
        return claim_filter.run(nodes)

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        return without_each("resource_claims", "resource claim", pod.spec)

    async def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        attempt = state.get(NAME)
        if not isinstance(attempt, Attempt):
            # An earlier plugin's PreFilter rejected the pod. kube-scheduler fails here, too, in these words.
            return None, Status.failed("not found")
        if not attempt.claims:
            return None, self._without_effect("no new claims to deallocate")
        try:
            return None, await self._free_a_claim(attempt, pod.pod, state.placed_group_members)
        except (ClientError, InvalidObjectError) as error:
            return None, Status.failed(error)

    async def pod_group_post_filter(
        self, group: PodGroup, pods: Sequence[PodInfo], dry_run: PodGroupDryRun
    ) -> tuple[Nominations, Status]:
        """What PostFilter does for each pod, and then for the claims of the group as such."""
        if self._handle.gates.enabled("TopologyAwareWorkloadScheduling") and group.spec.scheduling_constraints:
            return {}, Status(Code.UNSCHEDULABLE)
        states = [(info, state.get(NAME)) for info in pods if (state := dry_run.attempts.get(info.uid)) is not None]
        attempts = [(info, attempt) for info, attempt in states if isinstance(attempt, Attempt)]
        try:
            done = [await self._free_own_claim(attempt, info.pod) for info, attempt in attempts]
            if None in done and self._devices.features.group_claims:
                tried = [attempt for _, attempt in attempts]
                if (status := await self._group_claims.free_one(group, pods[0].pod, tried)) is not None:
                    return {}, status
        except (ClientError, InvalidObjectError) as error:
            return {}, Status.failed(error)
        return {}, Status.unschedulable("deallocation and deletion of ResourceClaims completed")

    async def _free_own_claim(self, attempt: Attempt, pod: Pod) -> Status | None:
        """Give up an allocation that ties the pod to nodes where it does not fit; None if there is none."""
        special = attempt.claims.special
        for k in sorted(attempt.unavailable):
            claim = attempt.claims.claims[k]
            users = {consumer.uid for consumer in claim.status.reserved_for}
            if k < attempt.claims.own and users <= {pod.metadata.uid}:
                await self._writer.deallocate(claim)
                return Status.unschedulable("deallocation of ResourceClaim completed")
        if special is not None and not is_in_memory(special):
            await self._writer.delete(special)
            return Status.unschedulable("deletion of ResourceClaim completed")
        return None

    async def _free_a_claim(self, attempt: Attempt, pod: Pod, placed_group_members: Set[str]) -> Status:
        if (freed := await self._free_own_claim(attempt, pod)) is not None:
            return freed
        if self._devices.features.group_claims:
            status = await self._group_claims.give_up_one(pod, placed_group_members)
            if status is not None:
                return status
        return self._without_effect("still not schedulable")

    def _without_effect(self, message: str) -> Status:
        return Status(Code.UNSCHEDULABLE, () if self._is_silent else (message,))

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        attempt = state.read(NAME, Attempt)
        if not (attempt.claims and attempt.results and self._devices.features.prioritized_list):
            return np.zeros(len(nodes), dtype=np.int64)
        allocated = sum(
            score_of_allocated(claim, allocation)
            for k, claim in enumerate(attempt.claims.claims)
            if (allocation := attempt.claims.allocation(k)) is not None
        )
        scores = [result.outcome.score() + allocated for result in attempt.results]
        by_result = np.array([*scores, 0], dtype=np.int64)  # the last entry is for nodes without a result (-1)
        return by_result[attempt.result_of_row[nodes.row_ids()]]

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return in_proportion(scores)

    def assumed_pod(self, state: CycleState, pod: Pod, node_name: str) -> Pod:
        attempt, row = state.get(NAME), self._handle.cluster.nodes.row_of.get(node_name)
        if not isinstance(attempt, Attempt) or row is None:
            return pod
        return with_statuses(pod, attempt.taken_from_node.get(row, ()))

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        attempt = state.read(NAME, Attempt)
        return reserve(attempt, pod, node_name, self._handle, self._devices) if attempt.claims else SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        attempt = state.get(NAME)
        if isinstance(attempt, Attempt) and attempt.claims:
            # It cannot wait for the API server. Whatever is left undone is repaired by the next attempt.
            for cleanup in unreserve(attempt, pod, self._devices.claim_tracker, self._writer):
                self._handle.start_task(cleanup)

    def pre_bind_preflight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS if state.read(NAME, Attempt).claims else SKIP

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        attempt = state.read(NAME, Attempt)
        return await self._pre_binding.run(attempt, pod, node_name) if attempt.claims else SUCCESS
