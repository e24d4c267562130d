"""Scores of nodes with the policy single-numa-node, by what is asked for and what each zone has of it.

The score of a node is that of its worst zone, of those that score at all; over containers it is the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from kubesched.contrib.node_resource_topology.demand import Amounts, Demand
from kubesched.contrib.node_resource_topology.zones import (
    ABSENT,
    SINGLE_BY_CONTAINER,
    SINGLE_BY_POD,
    Zones,
)
from kubesched.framework import MAX_SCORE, Floats, Integers, NodeView

_ABOVE_ALL: Final = MAX_SCORE + 1


class Asked(NamedTuple):
    """What is asked for of the resources that some zone lists, by their places; `unlisted` are the others."""

    places: Integers
    amounts: Integers
    """In thousandths."""
    units: Integers
    """Whole ones, rounded up."""
    weights: Integers
    unlisted: int
    weight: int
    """Of all resources together."""


Strategy = Callable[[Integers, Asked], Integers]
"""(what is available: rows × zones × the resources that are asked for) -> the score of each zone."""


def asked_of(zones: Zones, amounts: Amounts, weights: Mapping[str, int]) -> Asked:
    listed = [(zones.resources[name], amount, name) for name, amount in amounts if name in zones.resources]
    return Asked(
        np.array([place for place, _, _ in listed], dtype=np.intp),
        np.array([amount for _, amount, _ in listed], dtype=np.int64),
        _whole(np.array([amount for _, amount, _ in listed], dtype=np.int64)),
        np.array([weights.get(name, 1) for _, _, name in listed], dtype=np.int64),
        len(amounts) - len(listed),
        sum(weights.get(name, 1) for name, _ in amounts),
    )


def zone_scores(
    zones: Zones, demand: Demand, nodes: NodeView, strategy: Strategy, weights: Mapping[str, int]
) -> Integers:
    """The score of each row; 0 where the policy is another, or nothing is known."""
    kinds = zones.kinds[nodes.rows]
    by_pod, by_container = kinds == SINGLE_BY_POD, kinds == SINGLE_BY_CONTAINER
    scores = np.zeros(len(nodes), dtype=np.int64)
    if by_pod.any():
        scores += np.where(by_pod, _of_worst_zone(zones, demand.pod, nodes, strategy, weights), 0)
    if by_container.any():
        asked = [*[amounts for _, amounts in demand.init_containers], *demand.containers]
        total = sum(_of_worst_zone(zones, amounts, nodes, strategy, weights) for amounts in asked)
        scores += np.where(by_container, total // len(asked), 0)
    return scores


def _of_worst_zone(
    zones: Zones, amounts: Amounts, nodes: NodeView, strategy: Strategy, weights: Mapping[str, int]
) -> Integers:
    """Zones that score nothing do not count: the kubelet will not take them (scoreForEachNUMANode)."""
    if not amounts:
        return np.zeros(len(nodes), dtype=np.int64)
    asked = asked_of(zones, amounts, weights)
    available = np.maximum(zones.available[nodes.rows][:, :, asked.places], 0)
    scores = np.where(zones.ids[nodes.rows] == ABSENT, 0, strategy(available, asked))
    worst = np.where(scores == 0, _ABOVE_ALL, scores).min(axis=1)
    return np.where(worst == _ABOVE_ALL, 0, worst)


def least_allocated(available: Integers, asked: Asked) -> Integers:
    """The more is left, the better."""
    units = _whole(available)
    return _weighted((units - asked.units) * MAX_SCORE // np.maximum(units, 1), available, asked)


def most_allocated(available: Integers, asked: Asked) -> Integers:
    """The less is left, the better."""
    return _weighted(asked.units * MAX_SCORE // np.maximum(_whole(available), 1), available, asked)


def _weighted(scores: Integers, available: Integers, asked: Asked) -> Integers:
    """A resource that the zone lacks, or has too little of, scores 0."""
    counted = np.where((available > 0) & (available >= asked.amounts), scores, 0)
    total: Integers = (counted * asked.weights).sum(axis=2) // asked.weight
    return total


def balanced_allocation(available: Integers, asked: Asked) -> Integers:
    """The more evenly the zone's resources would be used, the better. A zone that lacks anything scores 0."""
    units = _whole(available)
    # rows × zones × resources: what is asked for, as a share of what there is
    shares = np.where(units == 0, 1.0, asked.units / np.maximum(units, 1))
    if asked.unlisted:
        shares = np.concatenate([shares, np.ones((*shares.shape[:2], asked.unlisted))], axis=2)
    even = 1 - _variance(shares)
    return np.where((shares > 1).any(axis=2), 0, np.trunc(even * MAX_SCORE)).astype(np.int64)


def _variance(samples: Floats) -> Floats:
    """Of samples along the last axis; corrected for what rounding leaves of their differences (gonum's stat.Variance).

    The differences of a single one from its mean tell nothing: 1, where upstream fails.
    """
    count = samples.shape[2]
    if count < 2:
        return np.ones(samples.shape[:2])
    mean = samples.sum(axis=2, keepdims=True) / count
    differences = samples - mean
    compensation = differences.sum(axis=2)
    variance: Floats = ((differences * differences).sum(axis=2) - compensation * compensation / count) / (count - 1)
    return variance


STRATEGIES: Final[Mapping[str, Strategy]] = {
    "LeastAllocated": least_allocated,
    "MostAllocated": most_allocated,
    "BalancedAllocation": balanced_allocation,
}


def _whole(thousandths: Integers) -> Integers:
    """Rounded up, as `Quantity.Value` is."""
    whole: Integers = -(-thousandths // 1000)
    return whole
