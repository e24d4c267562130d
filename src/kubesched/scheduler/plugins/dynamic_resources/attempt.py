"""What one scheduling attempt of a pod knows about its claims, and the results of searching devices for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kubesched.objects import ResourceClaim
from kubesched.objects.dra import AllocationResult
from kubesched.objects.node_selectors import NodeMatcher
from kubesched.scheduler.columns import Integers
from kubesched.scheduler.plugins.dynamic_resources.claims import PodClaims
from kubesched.scheduler.plugins.dynamic_resources.extended_resources import NodeVariant
from kubesched.scheduler.plugins.dynamic_resources.node_allocatable import Statuses
from kubesched.scheduler.plugins.dynamic_resources.outcomes import Outcome, score_of_rank
from kubesched.scheduler.plugins.dynamic_resources.requests import ClaimPlan


def score_of_allocated(claim: ResourceClaim, allocation: AllocationResult) -> int:
    """The same for a claim that was allocated before."""
    references = {result.request for result in allocation.devices.results}
    return sum(
        score_of_rank(k)
        for request in claim.spec.devices.requests
        if request.exactly is None
        for k, entry in enumerate(request.first_available)
        if f"{request.name}/{entry.name}" in references
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """What has to be allocated on nodes that lack the same extended resources."""

    plans: tuple[ClaimPlan, ...]
    key: bytes
    """Equal for plans that want the same."""
    variant: NodeVariant | None = None
    """The special claim as these nodes need it."""


@dataclass(frozen=True, slots=True)
class NodeResult:
    """What was found for a set of nodes."""

    outcome: Outcome
    wanted: Wanted


@dataclass(slots=True)
class Attempt:
    """Written by PreFilter, filled by Filter, used by everything that follows."""

    claims: PodClaims = field(default_factory=PodClaims)
    matchers: dict[int, NodeMatcher] = field(default_factory=dict)
    """By claim: the nodes from which the allocated claim can be used, if not from all."""
    extended: tuple[tuple[str, int], ...] = ()
    """Extended resources that the pod requests, where a special claim may be needed for them."""
    searches: bool = False
    """Whether some claim has to be allocated."""
    wanted: dict[int, Wanted] = field(default_factory=dict)
    """By the extended resources that devices must provide (a bit set): what to search for."""
    unavailable: set[int] = field(default_factory=set)
    """Allocated claims that cannot be used from some node: PostFilter may free one."""
    results: list[NodeResult] = field(default_factory=list)
    result_of_row: Integers = field(default_factory=lambda: np.full(0, -1, dtype=np.int64))
    """By row of the node table: a position in `results`, or -1."""
    taken_from_node: dict[int, Statuses] = field(default_factory=dict)
    """By row: what the claims take from the node itself (gate DRANodeAllocatableResources), where they do."""
    chosen_statuses: Statuses = ()
    """The same for the chosen node."""
    is_in_pod_status: bool = False
    """Whether `chosen_statuses` are in the pod's status, or may be."""
    decided: dict[int, AllocationResult] = field(default_factory=dict)
    """By claim: the allocation that Reserve decided on."""
    pending_uids: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    """That the search for devices took so far, on all nodes, and steps."""
    steps: int = 0
    node_result: NodeResult | None = None
    """That of the chosen node."""

    def result_at(self, row: int) -> NodeResult | None:
        number = int(self.result_of_row[row]) if row < len(self.result_of_row) else -1
        return self.results[number] if number >= 0 else None
