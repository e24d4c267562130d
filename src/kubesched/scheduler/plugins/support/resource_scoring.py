"""How NodeResourcesFit scores: the strategies LeastAllocated, MostAllocated and RequestedToCapacityRatio."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from kubesched.config.plugin_args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    ResourceSpec,
    ScoringStrategy,
)
from kubesched.errors import ConfigurationError
from kubesched.objects.resource_names import is_dra_extended_resource, is_scalar_resource
from kubesched.scheduler.columns import Integers, NodeView
from kubesched.scheduler.framework import Handle
from kubesched.scheduler.plugins.support.amounts import Amount, at_least, at_most, column, quotient
from kubesched.scheduler.plugins.support.capacities import Capacities, Capacity
from kubesched.scheduler.plugins.support.devices.totals import DeviceTotals
from kubesched.scheduler.plugins.support.exact_sums import ExactSums
from kubesched.scheduler.plugins.support.resource_shape import curve

Rate: TypeAlias = Callable[[Amount, int, Capacity], Amount]
"""(what is taken, the pod's request, the capacity) -> score of one resource, in an array of its own."""


class ScoredResource(NamedTuple):
    """A resource that counts for a pod: the pod's request, and its weight among the others."""

    name: str
    request: int
    weight: int


def scored_resources(resources: Sequence[ResourceSpec], requests: Mapping[str, int]) -> tuple[ScoredResource, ...]:
    """Those that say something about a pod: resources from outside Kubernetes only if the pod asks for them."""
    return tuple(
        [
            ScoredResource(spec.name, request, spec.weight)
            for spec in resources
            if (request := requests.get(spec.name, 0)) or not is_scalar_resource(spec.name)
        ]
    )


class ScoredDevices:
    """What devices have to say where resources are scored: an extended resource may stand for them."""

    def __init__(self, resources: Sequence[ResourceSpec], handle: Handle) -> None:
        self.totals: DeviceTotals | None = None
        """None where none of the resources can stand for devices."""
        if handle.gates.enabled("DRAExtendedResource") and any(
            is_dra_extended_resource(spec.name) for spec in resources
        ):
            self.totals = DeviceTotals.shared(handle)

    def count_for(self, resources: Sequence[ScoredResource]) -> bool:
        """Whether scores by these resources depend on devices."""
        totals = self.totals
        return totals is not None and any(totals.is_backed_by_devices(resource.name) for resource in resources)

    def fill_in(self, resource: str, nodes: NodeView, capacity: Capacity, used: Amount) -> tuple[Capacity, Amount]:
        """Capacity and use of a resource, by devices where a node has none of it itself."""
        totals = self.totals
        if totals is None or not totals.is_backed_by_devices(resource):
            return capacity, used
        devices, taken = totals.of(resource, nodes)
        has_none = column(capacity.amount, nodes) == 0
        return Capacity.of(np.where(has_none, devices, capacity.amount)), np.where(has_none, taken, used)


class ResourceScorer:
    """A strategy over arrays: the weighted mean of the resources' scores, of those that the node has at all."""

    def __init__(self, strategy: ScoringStrategy, devices: ScoredDevices, sums: ExactSums) -> None:
        """ConfigurationError for a strategy that does not exist."""
        self._devices = devices
        self._sums = sums
        self._capacities = Capacities()
        self._counts_only_positive = strategy.type == REQUESTED_TO_CAPACITY_RATIO
        if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
            ratio = strategy.requested_to_capacity_ratio
            self._rate: Rate = _along(curve(ratio.shape if ratio else ()))
        elif strategy.type in _RATES:
            self._rate = _RATES[strategy.type]
        else:
            raise ConfigurationError([f"scoring strategy {strategy.type} is not supported"])

    def score(self, nodes: NodeView, resources: Sequence[ScoredResource]) -> Integers:
        total: Amount = 0
        total_weight: Amount = 0
        for resource in resources:
            capacity = self._capacities.of(resource.name, nodes)
            used = self._sums.used(resource.name, resource.request, nodes, capacity)
            weight: Amount = resource.weight
            if capacity.is_lacking:
                capacity, used = self._devices.fill_in(resource.name, nodes, capacity, used)
                weight = weight * (capacity.amount != 0)
            score = self._rate(used, resource.request, capacity)
            if self._counts_only_positive:
                weight = weight * (score > 0)
            if isinstance(weight, np.ndarray) or weight != 1:
                score = score * weight
            total = score if isinstance(total, int) and total == 0 else total + score
            total_weight = total_weight + weight
        return column(self._mean(total, at_least(total_weight, 1)), nodes)

    def _mean(self, total: Amount, weight: Amount) -> Amount:
        if not self._counts_only_positive:
            return quotient(total, weight)
        # Rounded half up, as math.Round of the quotient: exact in integers.
        return (2 * total + weight) // (2 * weight)


def _least_allocated(used: Amount, request: int, capacity: Capacity) -> Amount:
    free = capacity.like(used) - used
    free -= request
    return capacity.percentage(at_least(free, 0))


def _most_allocated(used: Amount, request: int, capacity: Capacity) -> Amount:
    return capacity.percentage(at_most(used + request, capacity.like(used)))


def _along(scores: Integers) -> Rate:
    def rate(used: Amount, request: int, capacity: Capacity) -> Amount:
        percentage = at_least(_most_allocated(used, request, capacity), 0)
        score: Amount = scores[percentage.astype(np.int64) if isinstance(percentage, np.ndarray) else percentage]
        return score

    return rate


_RATES: Final[Mapping[str, Rate]] = {LEAST_ALLOCATED: _least_allocated, MOST_ALLOCATED: _most_allocated}
