"""Required terms: where a pod may not be, by its own terms and by those of placed pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from kubesched.scheduler.columns import ABSENT, Booleans, Counts, NodeView, PodTemplate, TermKind, WhatIf
from kubesched.scheduler.columns.pod_counts import Weigh
from kubesched.scheduler.framework import Reason, Verdict
from kubesched.scheduler.plugins.inter_pod_affinity.plan import Plan, weights_in_domains

REASONS: Final = (
    Reason.unresolvable("node(s) didn't match pod affinity rules"),
    Reason.unschedulable("node(s) didn't match pod anti-affinity rules"),
    Reason.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules"),
)
AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = (1 << k for k in range(len(REASONS)))


def judge(plan: Plan, pod: PodTemplate, nodes: NodeView, own_namespace_labels: Mapping[str, str]) -> Verdict:
    """The first rule that a node breaks, in upstream's order: affinity, anti-affinity, that of placed pods.

    Hence a later rule is looked at first here, and overwritten.
    """
    bits = np.zeros(len(nodes), dtype=np.int64)
    what_if = nodes.what_if
    if what_if is None:
        for matching in weights_in_domains(plan.existing_anti_affinity, nodes):
            np.copyto(bits, EXISTING_ANTI_AFFINITY, where=matching > 0)
        for matching in weights_in_domains(plan.anti_affinity, nodes):
            np.copyto(bits, ANTI_AFFINITY, where=matching > 0)
        if plan.affinity:
            np.copyto(bits, AFFINITY, where=_violates_affinity(plan, nodes))
        return Verdict(bits, REASONS)
    np.copyto(
        bits,
        EXISTING_ANTI_AFFINITY,
        where=_violates_existing_anti_affinity(plan, pod, nodes, what_if, own_namespace_labels),
    )
    for item in plan.anti_affinity:
        np.copyto(bits, ANTI_AFFINITY, where=nodes.pods_in_domain(item.count, item.column.key) > 0)
    if plan.affinity:
        np.copyto(bits, AFFINITY, where=_would_violate_affinity(plan, nodes, what_if))
    return Verdict(bits, REASONS)


def _violates_affinity(plan: Plan, nodes: NodeView) -> Booleans:
    """Nodes without a topology label, or (unless the pod may be the first of its kind) without matching pods near."""
    may_be_first = plan.matches_itself and not any(item.is_anywhere() for item in plan.affinity)
    lacking = np.zeros(len(nodes), dtype=np.bool_)
    for item in plan.affinity:
        sums = item.count.per_domain(item.column)
        empty = np.zeros(len(sums), dtype=np.bool_) if may_be_first else sums <= 0
        empty[ABSENT] = True
        lacking |= empty.take(nodes.domains(item.column.key))
    return lacking


def _would_violate_affinity(plan: Plan, nodes: NodeView, what_if: WhatIf) -> Booleans:
    """`_violates_affinity`, where each node has its own idea of which pods there are."""
    change = what_if.change(plan.affinity[0].count.weigh, len(nodes))  # one count serves all topologies
    unlabelled = np.zeros(len(nodes), dtype=np.bool_)
    alone = np.zeros(len(nodes), dtype=np.bool_)
    anywhere = np.zeros(len(nodes), dtype=np.int64)
    for item in plan.affinity:
        domains = nodes.domains(item.column.key)
        sums = item.count.per_domain(item.column)
        unlabelled |= domains == ABSENT
        alone |= sums[domains] + change <= 0
        anywhere += sums.sum() + change  # exact where all labels are there; the other rows fail anyway
    if plan.matches_itself:
        alone &= anywhere != 0
    return unlabelled | alone


def _violates_existing_anti_affinity(
    plan: Plan, pod: PodTemplate, nodes: NodeView, what_if: WhatIf, own_namespace_labels: Mapping[str, str]
) -> Booleans:
    """Rows near placed or supposed pods whose anti-affinity speaks of the pod.

    Supposed pods may carry terms that no placed pod has; hence they are asked again, by topology key.
    """
    placed: dict[str, Counts] = {}
    for item in plan.existing_anti_affinity:
        key = item.column.key
        placed[key] = placed.get(key, 0) + item.count.per_domain(item.column)

    violating = np.zeros(len(nodes), dtype=np.bool_)
    for key in placed | dict.fromkeys(_anti_affinity_keys(what_if)):
        domains = nodes.domains(key)
        near = what_if.change(_terms_against(pod, key, own_namespace_labels), len(nodes))
        if key in placed:
            near = near + placed[key][domains]
        violating |= (near > 0) & (domains != ABSENT)
    return violating


def _terms_against(pod: PodTemplate, key: str, own_namespace_labels: Mapping[str, str]) -> Weigh:
    """How many anti-affinity terms of another pod speak of this one, with a topology key."""
    return lambda other: sum(
        weight
        for item, weight in other.carried_terms.items()
        if item.kind is TermKind.REQUIRED_ANTI_AFFINITY
        and item.term.topology_key == key
        and item.term.matches(pod.namespace, pod.labels, own_namespace_labels)
    )


def _anti_affinity_keys(what_if: WhatIf) -> list[str]:
    templates = [what_if.templates[k] for k in what_if.templates_used()]
    carried = [item for template in templates if template is not None for item in template.carried_terms]
    return [item.term.topology_key for item in carried if item.kind is TermKind.REQUIRED_ANTI_AFFINITY]
