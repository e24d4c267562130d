"""ScheduleAnyway: the fewer of the pods are in a node's domains, the better."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from kubesched.columns import ABSENT, Integers, NodeView, Positions
from kubesched.columns.types import Floats
from kubesched.framework import MAX_SCORE
from kubesched.plugins.pod_topology_spread.constraints import HOSTNAME
from kubesched.plugins.pod_topology_spread.plan import Plan, Spread

IGNORED: Final = -1
"""The raw score of nodes that lack a label: 0 after normalisation, and not compared with the others."""


def topology_weights(plan: Plan, nodes: NodeView) -> tuple[float, ...]:
    """Per constraint: a weight that grows with the number of its domains among these (the feasible) nodes.

    It keeps the counts of a topology with few domains from drowning in those of one with many.
    """
    scored = nodes if plan.carrying is None else nodes.at(np.flatnonzero(plan.carrying[nodes.rows]))
    return tuple(math.log(_size(spread, scored) + 2) for spread in plan.spreads)


def _size(spread: Spread, nodes: NodeView) -> int:
    if spread.column.key == HOSTNAME:
        return len(nodes)
    is_there = np.zeros(len(spread.column.values) + 1, dtype=np.bool_)
    is_there[_values(spread, nodes)] = True
    return int(np.count_nonzero(is_there))


def raw_scores(plan: Plan, weights: tuple[float, ...], nodes: NodeView) -> Integers:
    """The weighted number of pods in each node's domains."""
    total: Floats = np.zeros(len(nodes), dtype=np.float64)
    for spread, weight in zip(plan.spreads, weights, strict=True):
        total += _cost(spread, np.float64(weight), nodes)
    scores = (total + 0.5).astype(np.int64)  # math.Round, as there is nothing negative
    if plan.carrying is not None:
        scores[~plan.carrying[nodes.rows]] = IGNORED
    return scores


def _cost(spread: Spread, weight: np.float64, nodes: NodeView) -> Floats:
    """`maxSkew` - 1 waters down the differences between domains; nodes without the label cost nothing."""
    domains = nodes.domains(spread.column.key)
    allowance = np.float64(spread.constraint.max_skew - 1)
    if spread.column.key == HOSTNAME:
        per_node: Floats = spread.count.rows[nodes.rows] * weight + allowance
        per_node[domains == ABSENT] = 0.0
        return per_node
    per_domain: Floats = _pods_per_value(spread) * weight + allowance
    per_domain[ABSENT] = 0.0
    in_domain: Floats = per_domain.take(domains)
    return in_domain


# With the system's defaults, nodes without the label take part as if its value were empty. They share a domain with
# nodes whose value really is empty, if there are any (initPreScoreState reads a missing label as "").


def _values(spread: Spread, nodes: NodeView) -> Positions:
    ids = nodes.domains(spread.column.key)
    empty = spread.column.id_of("")
    return ids if empty < 0 else np.where(ids == ABSENT, empty, ids)


def _pods_per_value(spread: Spread) -> Integers:
    sums = spread.sums()
    empty = spread.column.id_of("")
    if empty < 0:
        return sums
    unlabelled = spread.part.rows & ~spread.column.present(slice(0, len(spread.part.rows)))
    sums = sums.copy()
    sums[empty] += spread.count.rows[: len(unlabelled)][unlabelled].sum()
    return sums


def normalized(scores: Integers) -> Integers:
    """The least becomes the best, in integers as in Go."""
    compared = scores if IGNORED not in scores else scores[scores != IGNORED]
    if not len(compared):
        return np.zeros(len(scores), dtype=np.int64)
    least, largest = int(compared.min()), int(compared.max())
    if largest == 0:
        return np.where(scores == IGNORED, 0, MAX_SCORE)
    spread_out = MAX_SCORE * (largest + least - scores) // largest
    if compared is not scores:
        spread_out[scores == IGNORED] = 0
    return spread_out
