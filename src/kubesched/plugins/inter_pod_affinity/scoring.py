"""Preferences: what each node is worth by the pods near it."""

from __future__ import annotations

import numpy as np

from kubesched.columns import Counts, Integers, LabelColumn, NodeView
from kubesched.columns.types import Floats
from kubesched.framework import MAX_SCORE
from kubesched.plugins.inter_pod_affinity.plan import Plan


def raw_scores(plan: Plan, nodes: NodeView) -> Integers:
    """Per node: the weights of all preferences that pods in its domains give rise to."""
    worth: dict[LabelColumn, Counts] = {}  # by topology, per domain
    for item in plan.preferences:
        if item.count.total:
            here = item.weight * item.count.per_domain(item.column)
            worth[item.column] = worth[item.column] + here if item.column in worth else here
    in_domains = [per_domain[nodes.domains(column.key)] for column, per_domain in worth.items()]
    return sum(in_domains[1:], start=in_domains[0]) if in_domains else np.zeros(len(nodes), dtype=np.int64)


def normalized(scores: Integers) -> Integers:
    """From the least (0) to the largest (100); all 0 if there is no difference. In floats, cut off as in Go."""
    if not len(scores):
        return scores
    least, largest = scores.min(), scores.max()
    if least == largest:
        return np.zeros(len(scores), dtype=np.int64)
    share: Floats = (scores - least) / np.float64(largest - least)
    share *= MAX_SCORE
    return share.astype(np.int64)
