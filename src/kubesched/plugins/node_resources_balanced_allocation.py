"""NodeResourcesBalancedAllocation: prefer nodes whose resources are used evenly with the pod on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kubesched.columns import Integers, NodeView, PodInfo, PodTemplate
from kubesched.config.plugin_args import NodeResourcesBalancedAllocationArgs
from kubesched.framework import (
    FIXED,
    MAX_SCORE,
    SKIP,
    SUCCESS,
    CycleState,
    Handle,
    PreScorePlugin,
    Reach,
    ScorePlugin,
    Status,
)
from kubesched.objects.pod_resources import balance_score_requests
from kubesched.plugins.amounts import Amount, amount, column, is_zero_somewhere
from kubesched.plugins.per_template import PerRequests
from kubesched.plugins.resource_scoring import ScoredDevices, ScoredResource, scored_resources

NAME: Final = "NodeResourcesBalancedAllocation"

Share: TypeAlias = npt.NDArray[np.float64] | float


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Scores how the pod changes the balance: 75 if not at all, up to 100 for better, down to 50 for worse."""

    name = NAME
    reach = Reach.SUMS

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._specs = args.resources
        self._features = handle.cluster.templates.features
        self._resources = PerRequests(self._scored)
        self._devices = ScoredDevices(args.resources, handle)

    def score_reach_of(self, pod: PodTemplate) -> Reach:
        """With every pod that is given devices, scores that count them change on some node."""
        return Reach.CYCLE if self._devices.count_for(self._resources.of(pod)) else self.reach

    def basis(self, pod: PodTemplate) -> Hashable:
        totals = self._devices.totals
        return FIXED if totals is None else totals.classes_version

    def aspect(self, pod: PodTemplate) -> Hashable:
        return self._resources.of(pod)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        """A pod without requests changes no balance; scored, such pods would pile up on one node."""
        return SUCCESS if self._asks_for_something(pod.template) else SKIP

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        if not self._asks_for_something(pod):
            return np.zeros(len(nodes), dtype=np.int64)  # where a profile runs Score without PreScore
        before: list[Amount] = []
        after: list[Amount] = []
        capacities: list[Amount] = []
        is_complete = True
        for resource in self._resources.of(pod):
            taken = amount(nodes.requested(resource.name))
            capacity = amount(nodes.allocatable(resource.name))
            if is_zero_somewhere(capacity):
                capacity, taken = self._devices.fill_in(resource.name, nodes, capacity, taken)
                is_complete = False
            before.append(taken)
            after.append(taken + resource.request)
            capacities.append(capacity)
        if not is_complete:
            return _by_what_nodes_have(before, after, capacities, nodes)
        return column(_change_of_balance(before, after, capacities), nodes)

    def _asks_for_something(self, pod: PodTemplate) -> bool:
        return any(resource.request for resource in self._resources.of(pod))

    def _scored(self, pod: PodTemplate) -> tuple[ScoredResource, ...]:
        requests = pod.requests if pod.has_plain_requests else balance_score_requests(pod.exemplar, self._features)
        return scored_resources(self._specs, requests)


def _by_what_nodes_have(
    before: Sequence[Amount], after: Sequence[Amount], capacities: Sequence[Amount], nodes: NodeView
) -> Integers:
    """Nodes that lack some resource are judged by the others: group them by what they have."""
    scores = np.empty(len(nodes), dtype=np.int64)
    amounts = np.array([[column(value, nodes) for value in group] for group in (before, after, capacities)])
    has = amounts[2] != 0  # resources × rows
    for pattern in np.unique(has, axis=1).T:
        rows = np.flatnonzero((has == pattern[:, np.newaxis]).all(axis=0))
        scores[rows] = _change_of_balance(*amounts[:, pattern][:, :, rows])
    return scores


def _change_of_balance(before: Sequence[Amount], after: Sequence[Amount], capacities: Sequence[Amount]) -> Amount:
    """For nodes that have all these resources."""
    wholes = [_as_float(capacity) for capacity in capacities]
    change = _evenness(after, wholes)
    change -= _evenness(before, wholes)
    # 50 + (50 + change) // 2: the change lies between -50 and 50.
    change += 3 * MAX_SCORE // 2
    change >>= 1
    return change


def _evenness(used: Sequence[Amount], wholes: Sequence[Share]) -> Amount:
    """100 if all resources are used to the same degree, down to 50 if half of them is full and half is empty."""
    shares: list[Share] = []
    for taken, whole in zip(used, wholes, strict=True):
        share = taken / whole
        shares.append(np.minimum(share, 1.0, out=share) if isinstance(share, np.ndarray) else min(share, 1.0))
    evenness = 1 - _deviation(shares)
    evenness *= MAX_SCORE
    return evenness.astype(np.int64) if isinstance(evenness, np.ndarray) else int(evenness)


def _as_float(value: Amount) -> Share:
    return value.astype(np.float64) if isinstance(value, np.ndarray) else float(value)


def _deviation(shares: Sequence[Share]) -> Share:
    """The standard deviation; for two shares in the form that rounds as kube-scheduler's does."""
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        difference = shares[0] - shares[1]
        difference *= 0.5
        return np.abs(difference, out=difference) if isinstance(difference, np.ndarray) else abs(difference)
    mean = _sum(shares) / len(shares)
    deviation: Share = np.sqrt(_sum([(share - mean) * (share - mean) for share in shares]) / len(shares))
    return deviation


def _sum(shares: Sequence[Share]) -> Share:
    total: Share = 0.0
    for share in shares:
        total = total + share
    return total
