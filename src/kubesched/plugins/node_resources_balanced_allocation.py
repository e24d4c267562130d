"""NodeResourcesBalancedAllocation: prefer nodes whose resources are used evenly with the pod on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kubesched.columns import Integers, NodeView, PodInfo, PodTemplate
from kubesched.config.plugin_args import NodeResourcesBalancedAllocationArgs
from kubesched.framework import MAX_SCORE, SKIP, SUCCESS, CycleState, Handle, PreScorePlugin, Reach, ScorePlugin, Status
from kubesched.objects.pod_resources import balance_score_requests
from kubesched.plugins.amounts import Amount, amount, at_most, column, is_zero_somewhere
from kubesched.plugins.per_template import PerTemplate
from kubesched.plugins.resource_scoring import ScoredResource, scored_resources

NAME: Final = "NodeResourcesBalancedAllocation"

Share: TypeAlias = npt.NDArray[np.float64] | float


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Scores how the pod changes the balance: 75 if not at all, up to 100 for better, down to 50 for worse."""

    name = NAME
    reach = Reach.SUMS

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._specs = args.resources
        self._features = handle.cluster.templates.features
        self._resources = PerTemplate(self._scored)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        """A pod without requests changes no balance; scored, such pods would pile up on one node."""
        return SUCCESS if any(resource.request for resource in self._resources.of(pod.template)) else SKIP

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        usages = [_usage(resource, nodes) for resource in self._resources.of(pod)]
        if any(is_zero_somewhere(usage.capacity) for usage in usages):
            return _by_what_nodes_have(usages, nodes)
        return column(_change_of_balance(usages), nodes)

    def _scored(self, pod: PodTemplate) -> tuple[ScoredResource, ...]:
        return scored_resources(self._specs, balance_score_requests(pod.exemplar, self._features))


@dataclass(frozen=True, slots=True)
class _Usage:
    """One resource: what is taken without the pod and with it, and what the node has."""

    before: Amount
    after: Amount
    capacity: Amount


def _usage(resource: ScoredResource, nodes: NodeView) -> _Usage:
    before = amount(nodes.requested(resource.name))
    return _Usage(before, before + resource.request, amount(nodes.allocatable(resource.name)))


def _by_what_nodes_have(usages: Sequence[_Usage], nodes: NodeView) -> Integers:
    """Nodes that lack some resource are judged by the others: group them by what they have."""
    scores = np.empty(len(nodes), dtype=np.int64)
    columns = [[column(value, nodes) for value in (usage.before, usage.after, usage.capacity)] for usage in usages]
    has = np.array([capacity != 0 for _, _, capacity in columns])  # resources × rows
    for pattern in np.unique(has, axis=1).T:
        rows = np.flatnonzero((has == pattern[:, np.newaxis]).all(axis=0))
        present = [values for values, is_there in zip(columns, pattern, strict=True) if is_there]
        scores[rows] = _change_of_balance([_Usage(*(value[rows] for value in values)) for values in present])
    return scores


def _change_of_balance(usages: Sequence[_Usage]) -> Amount:
    capacities = [usage.capacity for usage in usages]
    evenness_before = _evenness([usage.before for usage in usages], capacities)
    evenness_after = _evenness([usage.after for usage in usages], capacities)
    return MAX_SCORE // 2 + (MAX_SCORE // 2 + evenness_after - evenness_before) // 2


def _evenness(used: Sequence[Amount], capacities: Sequence[Amount]) -> Amount:
    """100 if all resources are used to the same degree, down to 50 if half of them is full and half is empty."""
    shares = [at_most(taken, capacity) / capacity for taken, capacity in zip(used, capacities, strict=True)]
    evenness = (1 - _deviation(shares)) * MAX_SCORE
    return evenness.astype(np.int64) if isinstance(evenness, np.ndarray) else int(evenness)


def _deviation(shares: Sequence[Share]) -> Share:
    """The standard deviation; for two shares in the form that rounds as kube-scheduler's does."""
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        difference = shares[0] - shares[1]
        return (np.abs(difference) if isinstance(difference, np.ndarray) else abs(difference)) / 2
    mean = _sum(shares) / len(shares)
    deviation: Share = np.sqrt(_sum([(share - mean) * (share - mean) for share in shares]) / len(shares))
    return deviation


def _sum(shares: Sequence[Share]) -> Share:
    total: Share = 0.0
    for share in shares:
        total = total + share
    return total
