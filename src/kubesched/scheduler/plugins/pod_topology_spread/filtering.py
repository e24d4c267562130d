"""DoNotSchedule: a node whose domain would hold too many of the pods is out."""

from __future__ import annotations

from typing import Final

import numpy as np

from kubesched.scheduler.columns import ABSENT, Booleans, Integers, NodeView, PodTemplate, Positions, WhatIf
from kubesched.scheduler.framework import Reason, Verdict
from kubesched.scheduler.plugins.pod_topology_spread.plan import Plan, Spread

_UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
REASONS: Final = (
    Reason.unresolvable(f"{_UNEVEN} (missing required label)"),
    Reason.unschedulable(_UNEVEN),
)
MISSING_LABEL, TOO_SKEWED = 1, 2
_NO_DOMAIN: Final = (1 << 31) - 1
"""The least count where no domain takes part (newCriticalPaths)."""


def judge(plan: Plan, pod: PodTemplate, nodes: NodeView) -> Verdict:
    """Constraints are looked at in their order; the first that a node fails gives the reason."""
    bits = np.zeros(len(nodes), dtype=np.int64)
    for spread in reversed(plan.spreads):
        domains = nodes.domains(spread.column.key)
        if nodes.what_if is None:
            too_skewed = skewed_domains(spread).take(domains)
        else:
            too_skewed = _skewed_rows(spread, pod, nodes, nodes.what_if)
        np.copyto(bits, TOO_SKEWED, where=too_skewed)
        np.copyto(bits, MISSING_LABEL, where=domains == ABSENT)
    return Verdict(bits, REASONS)


def skewed_domains(spread: Spread) -> Booleans:
    """Per domain: whether it has too many pods to take one more."""
    sums, domains = spread.sums(), spread.included.domains
    compared = sums[:ABSENT] if len(domains) == len(sums) - 1 else sums[domains]
    least = int(compared.min()) if len(compared) else _NO_DOMAIN
    skewed: Booleans = sums > _most(spread, least)
    return skewed


def _skewed_rows(spread: Spread, pod: PodTemplate, nodes: NodeView, what_if: WhatIf) -> Booleans:
    """The same per row, where the pods supposed on a row change its domain's count, and maybe the least count."""
    selector, namespace = spread.constraint.selector, pod.namespace
    # Unlike in the count, terminating pods and an empty selector make no difference here (updateWithPod).
    change = what_if.change(
        lambda other: int(other.namespace == namespace and selector.matches(other.labels)), len(nodes)
    )
    takes_part: Booleans = spread.included.rows[nodes.rows]
    domains = nodes.domains(spread.column.key)
    here = spread.sums()[domains] + np.where(takes_part, change, 0)
    skewed: Booleans = here > _most(spread, _least_per_row(spread, here, domains, takes_part))
    return skewed


def _least_per_row(spread: Spread, here: Integers, domains: Positions, takes_part: Booleans) -> Integers:
    """The least count over all domains, as each row sees it: only its own domain's count differs from what is."""
    sums = spread.sums()[spread.included.domains]
    if not len(sums):
        return np.full(len(here), _NO_DOMAIN, dtype=np.int64)
    lowest = int(sums.argmin())
    second = int(np.delete(sums, lowest).min()) if len(sums) > 1 else _NO_DOMAIN
    elsewhere = np.where(domains == spread.included.domains[lowest], second, sums[lowest])
    return np.where(takes_part, np.minimum(elsewhere, here), sums[lowest])


def _most(spread: Spread, least: Integers | int) -> Integers | int:
    """How many pods a domain may hold already: with the pod itself, at most `maxSkew` more than the least."""
    constraint = spread.constraint
    if len(spread.included.domains) < constraint.min_domains:
        least = 0
    return least + constraint.max_skew - spread.is_self_matching
