"""Preferences: what each node is worth by the pods near it."""

from __future__ import annotations

import numpy as np

from kubesched.scheduler.columns import Integers, LabelColumn, NodeView
from kubesched.scheduler.columns.types import Floats
from kubesched.scheduler.framework import MAX_SCORE
from kubesched.scheduler.plugins.inter_pod_affinity.plan import Plan, weights_in_domains


def raw_scores(plan: Plan, nodes: NodeView) -> Integers:
    """Per node: the weights of all preferences that pods in its domains give rise to."""
    by_topology = weights_in_domains(plan.preferences, nodes)
    return sum(by_topology[1:], start=by_topology[0]) if by_topology else np.zeros(len(nodes), dtype=np.int64)


def scores_by_domain(plan: Plan) -> tuple[LabelColumn, Integers] | None:
    """The same by domain, where there is one topology with few of them."""
    column = plan.preferred_topology
    if column is None:
        return None
    worth: Integers = np.zeros(len(column.values) + 1, dtype=np.int64)
    for item in plan.preferences:
        worth += item.weight * item.count.per_domain(column)
    return column, worth


def normalized(scores: Integers) -> Integers:
    """From the least (0) to the largest (100); all 0 if there is no difference. In floats, cut off as in Go."""
    if not len(scores):
        return scores
    least, largest = int(np.minimum.reduce(scores)), int(np.maximum.reduce(scores))
    if least == largest:
        return np.zeros(len(scores), dtype=np.int64)
    share: Floats = (scores - least) / float(largest - least)
    share *= MAX_SCORE
    return share.astype(np.int64)
