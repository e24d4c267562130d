"""Moves without a solver: nodes that look cheap are tried one after the other. Nothing is known about the best plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubesched.apps.plan.defrag.problem import PodType, Problem
from kubesched.apps.plan.defrag.sequence import Wish
from kubesched.objects import Pod

MOST_TRIES = 50
"""Of nodes for one pod."""


@dataclass(frozen=True)
class Intent:
    """Pods that are to leave, nodes that are to be `closed` for good, and nodes to keep `clear` for wanted pods."""

    wishes: tuple[Wish, ...]
    closed: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()


def emptied(problem: Problem, node: int) -> tuple[Wish, ...]:
    """All that must leave a node so that it is empty."""
    pods = (pod for one in problem.types for pod in one.on.get(node, ()))
    return tuple(Wish(pod) for pod in sorted(pods, key=lambda pod: pod.key))


def cheapest_to_empty(problem: Problem) -> list[int]:
    """Nodes that may be emptied, those whose pods cost least first."""

    def cost(node: int) -> tuple[int, str]:
        return sum(one.cost * len(one.on.get(node, ())) for one in problem.types), problem.nodes[node]

    return sorted((n for n, may_be in enumerate(problem.can_be_emptied) if may_be), key=cost)


def room_on_one_node(problem: Problem, wanted: PodType) -> Iterator[Intent]:
    """Ways to make room for one pod, the cheapest first: on one node, pods leave until it fits."""
    ways = []
    for node in sorted(wanted.nodes):
        leaving = _leaving(problem, wanted, node)
        if leaving is not None:
            ways.append((sum(cost for cost, _ in leaving), problem.nodes[node], leaving))
    for _, name, leaving in sorted(ways, key=lambda way: way[:2])[:MOST_TRIES]:
        yield Intent(tuple(Wish(pod) for _, pod in leaving), clear=(name,))


def _leaving(problem: Problem, wanted: PodType, node: int) -> list[tuple[int, Pod]] | None:
    """The pods that leave a node so that one more fits, the least useful ones kept; None if all are not enough."""
    there = [(one, pod) for one in problem.types for pod in one.on.get(node, ())]
    taken = {name: sum(one.requests.get(name, 0) for one, _ in there) for name in wanted.requests}
    missing = {
        name: amount - (problem.room[node].get(name, 0) - taken[name]) for name, amount in wanted.requests.items()
    }
    leaving: list[tuple[PodType, Pod]] = []

    def helps(one: PodType) -> float:
        return sum(min(one.requests.get(name, 0), short) / short for name, short in missing.items() if short > 0)

    while any(short > 0 for short in missing.values()):
        useful = [entry for entry in there if entry not in leaving and helps(entry[0])]
        if not useful:
            return None
        best = max(useful, key=lambda entry: (helps(entry[0]) / entry[0].cost, entry[1].key))
        leaving.append(best)
        missing = {name: short - best[0].requests.get(name, 0) for name, short in missing.items()}
    for entry in sorted(leaving, key=lambda entry: -entry[0].cost):  # whoever is not needed after all stays
        if all(short + entry[0].requests.get(name, 0) <= 0 for name, short in missing.items()):
            leaving.remove(entry)
            missing = {name: short + entry[0].requests.get(name, 0) for name, short in missing.items()}
    return [(one.cost, pod) for one, pod in leaving]
