"""The resource claims of a pod."""

from __future__ import annotations

from dataclasses import dataclass, field

from kubesched.objects import AllocationResult, Pod, PodResourceClaim, ResourceClaim, ResourceClaimConsumerReference
from kubesched.plugins.devices.ledger import Ledger


class ClaimsNotReady(Exception):  # noqa: N818 - it is no error: the pod has to wait
    """A claim of the pod is missing, is being deleted, or belongs to somebody else. The message says which."""


def claims_of(pod: Pod, ledger: Ledger) -> list[ResourceClaim]:
    """The pod's claims, in the order of its spec. ClaimsNotReady if one cannot be used."""
    found = []
    for entry in pod.spec.resource_claims:
        name, is_generated = _claim_name(pod, entry)
        if name is None:
            continue  # the controller decided that this pod needs no claim here
        claim = ledger.get(pod.metadata.namespace, name)
        if claim is None:
            raise ClaimsNotReady(f'could not find ResourceClaim "{pod.metadata.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimsNotReady(f'resourceclaim "{name}" is being deleted')
        owner = claim.metadata.controller_of
        if is_generated and (owner is None or owner.uid != pod.metadata.uid):
            raise ClaimsNotReady(
                f"ResourceClaim {claim.metadata.key} was not created for Pod {pod.key} (Pod is not owner)"
            )
        found.append(claim)
    return found


def claim_names(pod: Pod) -> dict[str, str]:
    """The names of the claims behind the entries of the pod's spec, by the entries' names."""
    named = {entry.name: _claim_name(pod, entry)[0] for entry in pod.spec.resource_claims}
    return {entry: name for entry, name in named.items() if name is not None}


def _claim_name(pod: Pod, entry: PodResourceClaim) -> tuple[str | None, bool]:
    """The name of the claim behind an entry of the pod's spec, and whether it was made for this pod alone."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name, False
    if entry.resource_claim_template_name is None:
        raise ClaimsNotReady(
            f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
        )
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name, True
    raise ClaimsNotReady(f'pod "{pod.key}": ResourceClaim not created yet')


def is_reserved_for(pod: Pod, claim: ResourceClaim) -> bool:
    return any(consumer.uid == pod.metadata.uid for consumer in claim.status.reserved_for)


def reference_to(pod: Pod) -> ResourceClaimConsumerReference:
    """What `status.reservedFor` says of a pod."""
    return ResourceClaimConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)


@dataclass(slots=True)
class PodClaims:
    """The claims of a pod in one scheduling attempt: those of its spec, then the one for its extended resources."""

    claims: list[ResourceClaim] = field(default_factory=list)
    own: int = 0
    """How many of them the pod's spec names."""
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
