"""Claims that belong to a pod's group: reserved for all of its pods together (gate DRAWorkloadResourceClaims)."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

from kubesched.errors import ClientError, InvalidObjectError
from kubesched.objects import Pod, PodGroup, ResourceClaim
from kubesched.objects.dra import ResourceClaimConsumerReference
from kubesched.objects.scheduling import PodGroupResourceClaim
from kubesched.scheduler.framework import ObjectStore, PodGroupStates, Status
from kubesched.scheduler.plugins.dynamic_resources.attempt import Attempt
from kubesched.scheduler.plugins.dynamic_resources.claim_writer import ClaimWriter
from kubesched.scheduler.plugins.dynamic_resources.claims import GROUP_API, ClaimsNotReady, UsedClaim, is_reserved_for
from kubesched.scheduler.plugins.dynamic_resources.devices import Devices
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker
from kubesched.telemetry.logging import log

_NO_SUPPORTED_FIELD: Final = "none of the supported fields are set"


def consumers_of(
    pod: Pod, used: Iterable[UsedClaim], groups: ObjectStore[PodGroup]
) -> dict[int, ResourceClaimConsumerReference]:
    """The claims, by position, that the pod's group names in the same way: they are reserved for the group (BindTo).

    ClaimsNotReady if the group is not there, or names a claim in no way that is known.
    """
    group = _group_of(pod, groups)
    if group is None:
        return {}
    metadata = group.metadata
    reference = ResourceClaimConsumerReference(
        api_group=GROUP_API, resource="podgroups", name=metadata.name, uid=metadata.uid
    )
    found = {}
    for k, (entry, _) in enumerate(used):
        wanted = (entry.name, entry.resource_claim_name, entry.resource_claim_template_name)
        for of_group in group.spec.resource_claims:
            offered = (of_group.name, of_group.resource_claim_name, of_group.resource_claim_template_name)
            if offered[1:] == (None, None):
                raise ClaimsNotReady(f"PodGroup {metadata.key} claim {of_group.name}: {_NO_SUPPORTED_FIELD}")
            if offered == wanted:
                found[k] = reference
                break
    return found


def _group_of(pod: Pod, groups: ObjectStore[PodGroup]) -> PodGroup | None:
    """None for a pod without one."""
    member_of = pod.spec.scheduling_group
    if member_of is None:
        return None
    group = groups.get(member_of.pod_group_name, pod.metadata.namespace)
    if group is None:
        raise ClaimsNotReady(f'podgroup.scheduling.k8s.io "{member_of.pod_group_name}" not found')
    return group


class GroupClaims:
    """What PostFilter can do for a group that does not fit where the devices of its claims are."""

    def __init__(self, devices: Devices, states: PodGroupStates, writer: ClaimWriter) -> None:
        self._devices = devices
        self._states = states
        self._writer = writer

    async def give_up_one(self, pod: Pod, placed_group_members: Set[str]) -> Status | None:
        """End the reservation of one claim of the pod's group, unless a pod of the group may use it already.

        The next attempt can then give up the claim's allocation, too. None if nothing was done. Pods that are only
        tried together with this one (`placed_group_members`) do not use anything yet.
        """
        member_of = pod.spec.scheduling_group
        if member_of is None:
            return None
        state = self._states.get(pod.metadata.namespace, member_of.pod_group_name)
        if state is not None and any(info.uid not in placed_group_members for info in state.scheduled()):
            return None
        return await self._release_one(pod)

    async def free_one(self, group: PodGroup, pod: Pod, attempts: Iterable[Attempt]) -> Status | None:
        """Give up the allocation of one claim that none but the group has, or else a reservation.

        Nothing is done while a pod of the group has a node. `pod` is any of its pods (deallocatePodGroupClaims).
        """
        state = self._states.get(group.metadata.namespace, group.metadata.name)
        if state is not None and state.scheduled_count:
            return None
        for attempt in attempts:
            for k in sorted(attempt.unavailable):
                claim = attempt.claims.claims[k]
                if {consumer.uid for consumer in claim.status.reserved_for} <= {group.metadata.uid}:
                    await self._writer.deallocate(claim)
                    return Status.unschedulable("deallocation of PodGroup ResourceClaim completed")
        return await self._release_one(pod)

    async def _release_one(self, pod: Pod) -> Status | None:
        try:
            group = _group_of(pod, self._devices.groups)
            assert group is not None, f"pod {pod.key} belongs to a group"
            for entry in group.spec.resource_claims:
                claim = _claim_of(group, entry, self._devices.claim_tracker)
                if claim is None or claim.status.allocation is None or not is_reserved_for(pod, claim, or_group=True):
                    continue
                try:
                    await self._writer.release(claim, group.metadata.uid)
                except (ClientError, InvalidObjectError) as error:
                    log.error("Cannot unreserve a resource claim", error, claim=claim.metadata.key)
                    continue
                return Status.unresolvable("ResourceClaim unreserved for PodGroup")
        except ClaimsNotReady as reason:
            return Status.failed(str(reason))
        return None


def _claim_of(group: PodGroup, entry: PodGroupResourceClaim, tracker: ClaimTracker) -> ResourceClaim | None:
    """The claim behind an entry of the group's spec; None if there is none, or it was made for somebody else."""
    metadata, name = group.metadata, entry.resource_claim_name
    if name is None:
        if entry.resource_claim_template_name is None:
            raise ClaimsNotReady(f"PodGroup {metadata.key}, spec.resourceClaim {entry.name}: {_NO_SUPPORTED_FIELD}")
        made = [status for status in group.status.resource_claim_statuses if status.name == entry.name]
        if not made:
            raise ClaimsNotReady(f"PodGroup {metadata.key}: ResourceClaim not created yet")
        name = made[0].resource_claim_name
        if name is None:
            return None  # the controller decided that this group needs no claim here
    claim = tracker.get(metadata.namespace, name)
    if claim is None:
        raise ClaimsNotReady(f'could not find ResourceClaim "{metadata.namespace}/{name}"')
    owner = claim.metadata.controller_of
    is_generated = entry.resource_claim_name is None
    return None if is_generated and (owner is None or owner.uid != metadata.uid) else claim
