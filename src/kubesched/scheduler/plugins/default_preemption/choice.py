"""The candidate that costs least."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from kubesched.objects import Pod
from kubesched.scheduler.framework import Victims

_LOWEST_PRIORITY: Final = -(2**31)


class Cost(NamedTuple):
    """Lower is better; each part decides only if those before it are equal (pickOneNodeForPreemption)."""

    pdb_violations: int
    highest_priority: int
    sum_of_priorities: int
    """Counted from the lowest priority there is, so that more victims are never cheaper than fewer."""
    victims: int
    started: float
    """When the first one of the highest priority did, negated: the later that was, the less work is lost."""

    @classmethod
    def of(cls, victims: Victims) -> Cost:
        priorities = [pod.priority for pod in victims.pods]
        return cls(
            victims.pdb_violations,
            priorities[0],
            sum(priorities) - len(priorities) * _LOWEST_PRIORITY,
            len(priorities),
            -_first_start_of_priority(max(priorities), victims),
        )


def _first_start_of_priority(priority: int, victims: Victims) -> float:
    return min([_start_time(pod) for pod in victims.pods if pod.priority == priority])


def _start_time(pod: Pod) -> float:
    """A pod that has not started yet starts later than all others."""
    started = pod.status.start_time
    return math.inf if started is None else started.timestamp()


def cheapest(candidates: Mapping[str, Victims]) -> dict[str, Victims]:
    """The candidates that are equally good in the end."""
    if len(candidates) <= 1:
        return dict(candidates)
    costs = {node: Cost.of(victims) for node, victims in candidates.items()}
    lowest = min(costs.values())
    return {node: victims for node, victims in candidates.items() if costs[node] == lowest}
