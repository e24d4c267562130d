"""Which labels a pod must have for a selector to match it: what narrows a search by selector."""

from __future__ import annotations

from kubesched.objects.requirements import Operator
from kubesched.objects.selectors import Selector

LabelTag = tuple[str, str]


def label_tags(selector: Selector) -> tuple[LabelTag, ...] | None:
    """(key, value) pairs of which every matching pod has one; None if the selector gives no such hint."""
    if selector.selects_nothing:
        return ()
    wanted = [requirement for requirement in selector.requirements if requirement.operator is Operator.IN]
    if not wanted:
        return None
    narrowest = min(wanted, key=lambda requirement: len(requirement.values))
    return tuple((narrowest.key, value) for value in narrowest.values)
