"""NodeResourcesBalancedAllocation: prefer nodes whose resources are used evenly with the pod on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from kubesched.config.plugin_args import NodeResourcesBalancedAllocationArgs
from kubesched.objects.pod_resources import balance_score_requests
from kubesched.scheduler.columns import Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    FIXED,
    MAX_SCORE,
    SKIP,
    SUCCESS,
    CycleState,
    DependsOn,
    Handle,
    PreScorePlugin,
    ScorePlugin,
    Status,
)
from kubesched.scheduler.plugins.node_resources_balanced_allocation.kept_column import KeptColumn
from kubesched.scheduler.plugins.support.amounts import Amount, amount, column
from kubesched.scheduler.plugins.support.capacities import Capacities, Capacity, Share
from kubesched.scheduler.plugins.support.exact_sums import ExactSums
from kubesched.scheduler.plugins.support.per_template import PerRequests
from kubesched.scheduler.plugins.support.resource_scoring import ScoredDevices, ScoredResource, scored_resources

NAME: Final = "NodeResourcesBalancedAllocation"


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Scores how the pod changes the balance: 75 if not at all, up to 100 for better, down to 50 for worse."""

    name = NAME
    depends_on = DependsOn.NODE_RESOURCES

    def __init__(self, args: NodeResourcesBalancedAllocationArgs, handle: Handle) -> None:
        self._specs = args.resources
        self._features = handle.cluster.templates.features
        self._resources = PerRequests(self._scored)
        self._devices = ScoredDevices(args.resources, handle)
        self._table = handle.cluster.nodes
        self._capacities = Capacities()
        self._sums = ExactSums.shared(handle)
        self._kept: dict[tuple[str, ...], KeptColumn] = {}  # by the names of resources

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        """With every pod that is given devices, scores that count them change on some node."""
        counts = self._devices.totals is not None and self._devices.count_for(self._resources.of(pod))
        return DependsOn.ANYTHING if counts else self.depends_on

    def external_version(self, pod: PodTemplate) -> Hashable:
        totals = self._devices.totals
        return FIXED if totals is None else totals.classes_version

    def signature(self, pod: PodTemplate) -> Hashable:
        return self._resources.of(pod)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        """A pod without requests changes no balance; scored, such pods would pile up on one node."""
        return SUCCESS if self._asks_for_something(pod.template) else SKIP

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        if not self._asks_for_something(pod):
            return np.zeros(len(nodes), dtype=np.int64)  # where a profile runs Score without PreScore
        resources = self._resources.of(pod)
        capacities: list[Capacity] = []
        wholes: list[Share] = []
        taken: list[Amount] = []
        after: list[Amount] = []
        is_complete = True
        for resource in resources:
            capacity = self._capacities.of(resource.name, nodes)
            capacities.append(capacity)
            wholes.append(capacity.whole)
            taken.append(self._sums.requested(resource.name, resource.request, nodes, capacity))
            after.append(taken[-1] + resource.request)
            is_complete &= not capacity.is_lacking
        if nodes.what_if is None and isinstance(nodes.rows, slice):
            unevenness: Integers | int = self._kept_unevenness(resources).of(nodes, taken, wholes)
        else:
            unevenness = _unevenness(taken, wholes)
        scores = column(_score(_evenness(after, wholes), unevenness), nodes)
        if not is_complete:
            self._score_by_what_nodes_have(resources, capacities, nodes, scores)
        return scores

    def _asks_for_something(self, pod: PodTemplate) -> bool:
        return any(resource.request for resource in self._resources.of(pod))

    def _kept_unevenness(self, resources: Sequence[ScoredResource]) -> KeptColumn:
        """How unevenly these resources are used without the pod, on nodes that have all of them."""
        names = tuple([resource.name for resource in resources])
        kept = self._kept.get(names)
        if kept is None:
            kept = self._kept[names] = KeptColumn(names, _unevenness, self._table)
        return kept

    def _score_by_what_nodes_have(
        self, resources: Sequence[ScoredResource], capacities: Sequence[Capacity], nodes: NodeView, scores: Integers
    ) -> None:
        """Nodes that lack some resource are judged by the others: group them by what they have. Writes to `scores`."""
        lacking = np.flatnonzero(np.any([column(capacity.amount, nodes) == 0 for capacity in capacities], axis=0))
        columns: list[list[Integers]] = []
        for resource, capacity in zip(resources, capacities, strict=True):
            taken = amount(nodes.requested(resource.name))
            capacity, taken = self._devices.fill_in(resource.name, nodes, capacity, taken)
            amounts = (taken, taken + resource.request, capacity.amount)
            columns.append([column(value, nodes)[lacking] for value in amounts])
        before, after, wholes = np.array(columns).swapaxes(0, 1)  # each: resources × lacking rows
        has = wholes != 0
        patterns = (1 << np.arange(len(resources))) @ has
        for pattern in np.unique(patterns):
            rows = np.flatnonzero(patterns == pattern)
            here = np.ix_(has[:, rows[0]], rows)
            owned = wholes[here].astype(np.float64)
            scores[lacking[rows]] = _score(_evenness(after[here], owned), _unevenness(before[here], owned))

    def _scored(self, pod: PodTemplate) -> tuple[ScoredResource, ...]:
        requests = pod.requests if pod.has_plain_requests else balance_score_requests(pod.exemplar, self._features)
        return scored_resources(self._specs, requests)


def _score(after: Integers | int, before: Integers | int) -> Integers | int:
    """50 + (50 + change) // 2, of the evenness after and the unevenness before. In place, in what is `after`.

    The change lies between -50 and 50.
    """
    after += before
    after >>= 1
    return after


def _unevenness(used: Sequence[Amount], wholes: Sequence[Share]) -> Integers | int:
    """50 if all resources are used to the same degree, up to 100: what `_evenness` lacks of 150."""
    return 3 * MAX_SCORE // 2 - _evenness(used, wholes)


def _evenness(used: Sequence[Amount], wholes: Sequence[Share]) -> Integers | int:
    """100 if all resources are used to the same degree, down to 50 if half of them is full and half is empty."""
    shares: list[Share] = []
    for taken, whole in zip(used, wholes, strict=True):
        share = taken / whole
        shares.append(np.minimum(share, 1.0, out=share) if isinstance(share, np.ndarray) else min(share, 1.0))
    evenness = 2 - _doubled_deviation(shares)
    evenness *= MAX_SCORE // 2
    return evenness.astype(np.int64) if isinstance(evenness, np.ndarray) else int(evenness)


def _doubled_deviation(shares: Sequence[Share]) -> Share:
    """Twice the standard deviation: no other digits, and one step less for two shares than the deviation itself."""
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        difference = shares[0] - shares[1]
        return np.abs(difference, out=difference) if isinstance(difference, np.ndarray) else abs(difference)
    mean = _sum(shares) / len(shares)
    deviation: Share = np.sqrt(_sum([(share - mean) * (share - mean) for share in shares]) / len(shares))
    return 2 * deviation


def _sum(shares: Sequence[Share]) -> Share:
    total: Share = 0.0
    for share in shares:
        total = total + share
    return total
