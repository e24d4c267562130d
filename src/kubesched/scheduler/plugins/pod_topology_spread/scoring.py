"""ScheduleAnyway: the fewer of the pods are in a node's domains, the better."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from kubesched.scheduler.columns import ABSENT, Booleans, Integers, LabelColumn, NodeView
from kubesched.scheduler.columns.types import Floats
from kubesched.scheduler.framework import MAX_SCORE
from kubesched.scheduler.plugins.pod_topology_spread.constraints import HOSTNAME
from kubesched.scheduler.plugins.pod_topology_spread.plan import Plan, Spread

IGNORED: Final = -1
"""The raw score of nodes that lack a label: 0 after normalisation, and not compared with the others."""


def topology_weights(plan: Plan, nodes: NodeView) -> tuple[float, ...]:
    """Per constraint: a weight that grows with the number of its domains among these (the feasible) nodes.

    It keeps the counts of a topology with few domains from drowning in those of one with many.
    """
    scored = nodes if plan.carrying is None else nodes.at(np.flatnonzero(plan.carrying[nodes.rows]))
    return tuple(math.log(_size(spread, scored) + 2) for spread in plan.spreads)


# With the system's defaults, nodes without the label take part as if its value were empty. They share a domain with
# nodes whose value really is empty, if there are any (initPreScoreState reads a missing label as "").


def _size(spread: Spread, nodes: NodeView) -> int:
    if spread.column.key == HOSTNAME:
        return len(nodes)
    occurs, empty = spread.column.occurring(nodes.rows), spread.column.id_of("")
    return int(np.count_nonzero(occurs)) - bool(empty >= 0 and occurs[empty] and occurs[ABSENT])


def raw_scores(plan: Plan, weights: tuple[float, ...], nodes: NodeView) -> Integers:
    """The weighted number of pods in each node's domains."""
    total: Floats = np.zeros(len(nodes), dtype=np.float64)
    for spread, weight in zip(plan.spreads, weights, strict=True):
        total += _cost(spread, np.float64(weight), nodes)
    scores = _rounded(total)
    if plan.carrying is not None:
        scores[~plan.carrying[nodes.rows]] = IGNORED
    return scores


def scores_by_domain(plan: Plan, weights: tuple[float, ...]) -> tuple[LabelColumn, Integers] | None:
    """The same by domain, where nodes differ in nothing else."""
    if plan.carrying is not None or len(plan.spreads) != 1 or plan.spreads[0].column.key == HOSTNAME:
        return None
    [spread] = plan.spreads
    return spread.column, _rounded(_cost_per_domain(spread, np.float64(weights[0])))


def _rounded(costs: Floats) -> Integers:
    """As math.Round does, since there is nothing negative."""
    return (costs + 0.5).astype(np.int64)


def _cost(spread: Spread, weight: np.float64, nodes: NodeView) -> Floats:
    """What each node's domain costs; a host is one of its own."""
    domains = nodes.domains(spread.column.key)
    if spread.column.key == HOSTNAME:
        per_node: Floats = spread.count.rows[nodes.rows] * weight + _allowance(spread)
        per_node[domains == ABSENT] = 0.0
        return per_node
    in_domain: Floats = _cost_per_domain(spread, weight).take(domains)
    return in_domain


def _cost_per_domain(spread: Spread, weight: np.float64) -> Floats:
    """Nodes without the label (the last entry) cost nothing."""
    per_domain: Floats = _pods_per_value(spread) * weight + _allowance(spread)
    per_domain[ABSENT] = 0.0
    return per_domain


def _allowance(spread: Spread) -> np.float64:
    """`maxSkew` - 1 waters down the differences between domains."""
    return np.float64(spread.constraint.max_skew - 1)


def _pods_per_value(spread: Spread) -> Integers:
    sums = spread.sums()
    empty = spread.column.id_of("")
    if empty < 0:
        return sums
    unlabelled = spread.included.rows & ~spread.column.present(slice(0, len(spread.included.rows)))
    sums = sums.copy()
    sums[empty] += spread.count.rows[: len(unlabelled)][unlabelled].sum()
    return sums


def normalized(scores: Integers) -> Integers:
    """The least becomes the best, in integers as in Go."""
    if not len(scores):
        return scores
    least, largest = int(np.minimum.reduce(scores)), int(np.maximum.reduce(scores))
    if least == IGNORED:
        return _normalized_among(scores, scores != IGNORED)
    if largest == 0:
        return np.full(len(scores), MAX_SCORE)
    return MAX_SCORE * (largest + least - scores) // largest


def _normalized_among(scores: Integers, compared: Booleans) -> Integers:
    """As `normalized`, for those that are compared; the others get nothing."""
    result = np.zeros(len(scores), dtype=np.int64)
    result[compared] = normalized(scores[compared])
    return result
