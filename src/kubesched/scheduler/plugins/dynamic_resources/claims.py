"""The resource claims of a pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kubesched.objects import Pod, ResourceClaim
from kubesched.objects.dra import AllocationResult, ResourceClaimConsumerReference
from kubesched.objects.pod import PodResourceClaim
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker

GROUP_API: Final = "scheduling.k8s.io"


class ClaimsNotReady(Exception):  # noqa: N818 - it is no error: the pod has to wait
    """A claim of the pod is missing, is being deleted, or belongs to somebody else. The message says which."""


UsedClaim = tuple[PodResourceClaim, ResourceClaim]
"""An entry of a pod's spec, and the claim behind it."""


def claims_of(pod: Pod, tracker: ClaimTracker, *, or_of_group: bool) -> list[UsedClaim]:
    """The pod's claims, in the order of its spec. ClaimsNotReady if one cannot be used.

    With `or_of_group` (gate DRAWorkloadResourceClaims) they may have been made for the pod's group.
    """
    found, generated = [], _generated_names(pod)
    for entry in pod.spec.resource_claims:
        name, is_generated = _claim_name(pod, entry, generated)
        if name is None:
            continue  # the controller decided that this pod needs no claim here
        claim = tracker.get(pod.metadata.namespace, name)
        if claim is None:
            raise ClaimsNotReady(f'could not find ResourceClaim "{pod.metadata.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimsNotReady(f'resourceclaim "{name}" is being deleted')
        if is_generated:
            _check_owner(claim, pod, or_of_group=or_of_group)
        found.append((entry, claim))
    return found


def claim_names(pod: Pod) -> dict[str, str]:
    """The names of the claims behind the entries of the pod's spec, by the entries' names."""
    generated = _generated_names(pod)
    named = {entry.name: _claim_name(pod, entry, generated)[0] for entry in pod.spec.resource_claims}
    return {entry: name for entry, name in named.items() if name is not None}


def _generated_names(pod: Pod) -> dict[str, str | None]:
    """By entry of the pod's spec: the claim that was made for it from a template. The first that is given counts."""
    return {status.name: status.resource_claim_name for status in reversed(pod.status.resource_claim_statuses)}


def _claim_name(pod: Pod, entry: PodResourceClaim, generated: Mapping[str, str | None]) -> tuple[str | None, bool]:
    """The name of the claim behind an entry of the pod's spec, and whether it was made for this pod alone."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name, False
    if entry.resource_claim_template_name is None:
        raise ClaimsNotReady(
            f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
        )
    if entry.name in generated:
        return generated[entry.name], True
    raise ClaimsNotReady(f'pod "{pod.key}": ResourceClaim not created yet')


def _check_owner(claim: ResourceClaim, pod: Pod, *, or_of_group: bool) -> None:
    """A claim from a template must have been made for this pod, or for its group (IsForPod)."""
    owner, member_of = claim.metadata.controller_of, pod.spec.scheduling_group
    if owner is not None and owner.uid == pod.metadata.uid:
        return
    who = "Pod is not owner"
    if or_of_group and member_of is not None:
        # The pod knows its group by name only.
        is_group = owner is not None and owner.kind == "PodGroup" and owner.api_version.startswith(f"{GROUP_API}/")
        if owner is not None and is_group and owner.name == member_of.pod_group_name:
            return
        who = f"neither Pod nor PodGroup {member_of.pod_group_name} is the owner"
    raise ClaimsNotReady(f"ResourceClaim {claim.metadata.key} was not created for Pod {pod.key} ({who})")


def is_reserved_for(pod: Pod, claim: ResourceClaim, *, or_group: bool = False) -> bool:
    """Whether the pod may use the claim, in its own name or, with `or_group`, in that of its group."""
    consumers = claim.status.reserved_for
    if any(consumer.uid == pod.metadata.uid for consumer in consumers):
        return True
    member_of = pod.spec.scheduling_group
    if not or_group or member_of is None:
        return False
    return any(is_group(consumer) and consumer.name == member_of.pod_group_name for consumer in consumers)


def is_group(consumer: ResourceClaimConsumerReference) -> bool:
    return (consumer.api_group, consumer.resource) == (GROUP_API, "podgroups")


def reference_to(pod: Pod) -> ResourceClaimConsumerReference:
    """What `status.reservedFor` says of a pod."""
    return ResourceClaimConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)


@dataclass(slots=True)
class PodClaims:
    """The claims of a pod in one scheduling attempt: those of its spec, then the one for its extended resources."""

    claims: list[ResourceClaim] = field(default_factory=list)
    own: int = 0
    """How many of them the pod's spec names."""
    consumers: dict[int, ResourceClaimConsumerReference] = field(default_factory=dict)
    """By claim: for whom it is to be reserved, if not for the pod."""
    shared: dict[int, AllocationResult] = field(default_factory=dict)
    """By claim: what a pod of the same group got for it in this cycle. It is not written yet, and holds for both."""

    @property
    def special(self) -> ResourceClaim | None:
        """The claim that stands for extended resources, if there is one."""
        return self.claims[self.own] if len(self.claims) > self.own else None

    def to_allocate(self) -> list[tuple[int, ResourceClaim]]:
        return [(k, claim) for k, claim in enumerate(self.claims) if self.allocation(k) is None]

    def allocation(self, position: int) -> AllocationResult | None:
        """What a claim has, or shares."""
        return self.claims[position].status.allocation or self.shared.get(position)

    def __bool__(self) -> bool:
        return bool(self.claims)
