"""Resources as quotas count them: CPU in thousandths, all else in whole units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubesched.framework import PodTemplate, Quantity, is_scalar_resource

Amounts = dict[str, int]

ALWAYS_COMPARED: Final = ("cpu", "memory", "ephemeral-storage", "pods")
UNLIMITED: Final = (1 << 63) - 1
_REQUEST: Final = object()


def amounts(resources: Mapping[str, Quantity]) -> Amounts:
    """Without resources that the scheduler does not count."""
    return {
        name: quantity.milli_value() if name == "cpu" else quantity.value()
        for name, quantity in resources.items()
        if name in ALWAYS_COMPARED or is_scalar_resource(name)
    }


def add(total: Amounts, other: Mapping[str, int], sign: int = 1) -> None:
    """Add to (or with -1, subtract from) a total, in place."""
    for name, amount in other.items():
        total[name] = total.get(name, 0) + sign * amount


def request_of(pod: PodTemplate) -> Amounts:
    """What a pod counts for; sidecars are as other init containers (computePodResourceRequest). Don't change it."""
    known: Amounts | None = pod.memo.get(_REQUEST)
    if known is None:
        known = {}
        for container in pod.spec.containers:
            add(known, amounts(container.resources.requests))
        for container in pod.spec.init_containers:
            for name, amount in amounts(container.resources.requests).items():
                if name != "pods":
                    known[name] = max(known.get(name, 0), amount)
        add(known, amounts(pod.spec.overhead))
        pod.memo[_REQUEST] = known
    return known


def exceeds(asked: Mapping[str, int], used: Mapping[str, int], bound: Mapping[str, int], *, unnamed: int) -> bool:
    """Whether what is asked for, with what is used, is more than the bound.

    Of extended resources only those that are asked for are looked at; those that the bound does not name are bounded by
    `unnamed`, the other ones by 0 (cmp2).
    """
    if any(asked.get(name, 0) + used.get(name, 0) > bound.get(name, 0) for name in ALWAYS_COMPARED):
        return True
    others = (name for name in asked if name not in ALWAYS_COMPARED)
    return any(asked[name] + used.get(name, 0) > bound.get(name, unnamed) for name in others)
