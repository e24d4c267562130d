"""The candidate that costs least."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from kubesched.framework import Victims
from kubesched.objects import Pod

_LOWEST_PRIORITY: Final = -(2**31)


def _sum_of_priorities(victims: Victims) -> int:
    # Counted from the lowest priority there is, so that more victims are never cheaper than fewer.
    return sum(pod.priority - _LOWEST_PRIORITY for pod in victims.pods)


def _start_of_most_important(victims: Victims) -> float:
    highest = max(pod.priority for pod in victims.pods)
    return min(_start_time(pod) for pod in victims.pods if pod.priority == highest)


def _start_time(pod: Pod) -> float:
    """A pod that has not started yet starts later than all others."""
    started = pod.status.start_time
    return math.inf if started is None else started.timestamp()


COSTS: Final[tuple[Callable[[Victims], float], ...]] = (
    lambda victims: victims.pdb_violations,
    lambda victims: victims.pods[0].priority,
    _sum_of_priorities,
    lambda victims: len(victims.pods),
    lambda victims: -_start_of_most_important(victims),
)
"""Lower is better; each decides only among those that the ones before it left (pickOneNodeForPreemption)."""


def cheapest(candidates: Mapping[str, Victims]) -> dict[str, Victims]:
    """The candidates that are equally good in the end."""
    left = dict(candidates)
    for cost in COSTS:
        if len(left) <= 1:
            break
        costs = {node: cost(victims) for node, victims in left.items()}
        lowest = min(costs.values())
        left = {node: victims for node, victims in left.items() if costs[node] == lowest}
    return left
