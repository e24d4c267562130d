"""What a few pods more or less change: the domains they are in, and the nodes of these."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from kubesched.scheduler.columns import ABSENT, LabelColumn, Positions
from kubesched.scheduler.plugins.inter_pod_affinity.plan import DomainCount, Plan

_Domain = tuple[LabelColumn, int]


def rows_with_new_verdict(plan: Plan, since: Hashable) -> Positions | None:
    """Rows that may break another rule than on an earlier external version; None if any may."""
    changes = plan.changes_since(since)
    if changes is None:
        return None
    if any(_emptied_or_filled(item, changes[item.count]) for item in plan.affinity):
        return None  # where a first pod may go depends on whether there is one anywhere
    return _rows_in(
        domain
        for item in (*plan.anti_affinity, *plan.existing_anti_affinity)
        for domain in _emptied_or_filled(item, changes[item.count])
    )


def rows_with_new_score(plan: Plan, since: Hashable) -> Positions | None:
    """Rows that preferences may value otherwise than on an earlier external version; None if any may be."""
    changes = plan.changes_since(since)
    if changes is None:
        return None
    return _rows_in(
        (item.column, domain) for item in plan.preferences for domain in _by_domain(item, changes[item.count])
    )


def _emptied_or_filled(item: DomainCount, changes: dict[int, int]) -> list[_Domain]:
    """Domains that had no such pod and have one now, or the other way round: more or fewer make no difference."""
    sums = item.count.per_domain(item.column)
    return [
        (item.column, domain)
        for domain, change in _by_domain(item, changes).items()
        if (sums.item(domain) > 0) != (sums.item(domain) - change > 0)
    ]


def _by_domain(item: DomainCount, changes: dict[int, int]) -> dict[int, int]:
    """Changes by row as changes by domain; pods on nodes without the label count nowhere."""
    by_domain: dict[int, int] = {}
    for row, change in changes.items():
        domain = item.column.ids.item(row)
        if domain != ABSENT:
            by_domain[domain] = by_domain.get(domain, 0) + change
    return by_domain


def _rows_in(domains: Iterable[_Domain]) -> Positions:
    found = [column.rows_in(domain) for column, domain in dict.fromkeys(domains)]
    if len(found) == 1:
        return found[0]
    return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.intp)
