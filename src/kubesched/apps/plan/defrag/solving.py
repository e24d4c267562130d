"""The fewest moves, found by CP-SAT, with the bound that it proves; or the proof that no moves suffice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kubesched.apps.plan.defrag.problem import Problem
from kubesched.apps.plan.solver import cp_model
from kubesched.objects import Pod


@dataclass(frozen=True)
class Move:
    pod: Pod
    source: int
    target: int


@dataclass(frozen=True)
class Solution:
    """Moves that the problem allows. `bound`: no others cost less. `emptied` nodes hold no pods of types any more."""

    moves: tuple[Move, ...]
    cost: int
    bound: float
    emptied: tuple[int, ...]
    wanted_on: tuple[int, ...]
    """Where the wanted pods have their room."""
    is_optimal: bool


@dataclass(frozen=True)
class Unsolved:
    """`is_proved`: there is no solution. Otherwise time ran out before one was found."""

    is_proved: bool


def solve(
    problem: Problem,
    *,
    empty: int = 0,
    closed: Iterable[int] = (),
    seconds: float = 30.0,
    workers: int = 1,
    forbidden: Iterable[tuple[int, int]] = (),
    feasibility_only: bool = False,
) -> Solution | Unsolved:
    """The least costly moves after which all wanted pods fit, `closed` nodes are empty, and `empty` nodes in all.

    `forbidden` are (type, node) pairs that the scheduler has refused. With several `workers`, which of the equally
    good solutions is found is a matter of chance.
    """
    model = _Model(problem, empty, frozenset(closed), frozenset(forbidden), feasibility_only)
    cp = model.cp
    solver = cp.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = 0
    solver.parameters.relative_gap_limit = 0.0
    status = solver.solve(model.model)
    if status in (cp.OPTIMAL, cp.FEASIBLE):
        return model.solution(solver, status == cp.OPTIMAL)
    if status == cp.MODEL_INVALID:
        raise AssertionError(model.model.validate())
    return Unsolved(is_proved=status == cp.INFEASIBLE)


def cost_of(problem: Problem, node: int) -> int:
    """What it costs to move all pods of types away from a node."""
    return sum(one.cost * len(one.on.get(node, ())) for one in problem.types)


def least_cost(problem: Problem, empty: int, closed: frozenset[int]) -> int:
    """A bound that needs no solver: the pods of the nodes to be emptied must leave, and these cost at least so much."""
    open_nodes = [n for n, may_be in enumerate(problem.can_be_emptied) if may_be and n not in closed]
    others = sorted(cost_of(problem, n) for n in open_nodes)[: max(0, empty - len(closed))]
    return sum(cost_of(problem, n) for n in closed) + sum(others)


class _Model:
    """`count[t, n]`: how many pods of type t are on node n in the end; `left[t, n]`: how many of them leave it."""

    def __init__(
        self, problem: Problem, empty: int, closed: frozenset[int], forbidden: frozenset[tuple[int, int]], bare: bool
    ) -> None:
        self.cp = cp_model()
        self.model = model = self.cp.CpModel()
        self._problem = problem
        self._count: dict[tuple[int, int], Any] = {}
        self._left: dict[tuple[int, int], Any] = {}
        self._is_empty = {
            n: model.new_bool_var(f"empty {n}")
            for n, may_be in enumerate(problem.can_be_emptied)
            if may_be and (empty or n in closed)
        }
        for t, one in enumerate(problem.types):
            self._place(t, closed, forbidden)
            model.add(sum(self._count[t, n] for n in self._nodes_of(t)) == one.total)
        for n in range(len(problem.nodes)):
            self._fill(n)
        for n in closed:
            if n in self._is_empty:
                model.add(self._is_empty[n] == 1)
            else:
                model.add_bool_or([])  # it holds a pod that may not move
        if empty:
            model.add(sum(self._is_empty.values()) == empty)
        if not bare:
            cost = sum(problem.types[t].cost * left for (t, _), left in self._left.items())
            model.minimize(cost)
            if self._left:
                model.add(cost >= least_cost(problem, empty, closed))
            self._hint(empty, closed)

    def _hint(self, empty: int, closed: frozenset[int]) -> None:
        """A first guess: the nodes that are cheapest to empty, their pods packed into what is left elsewhere."""
        problem = self._problem
        costs = {n: cost_of(problem, n) for n in self._is_empty}
        chosen = closed | set(sorted(costs, key=lambda n: (n not in closed, costs[n], n))[: max(empty, len(closed))])
        room = [dict(have) for have in problem.room]
        for one in problem.types:
            for n, pods in one.on.items():
                for name, amount in one.requests.items():
                    room[n][name] = room[n].get(name, 0) - amount * len(pods)
        count = {(t, n): len(problem.types[t].on.get(n, ())) for t, n in self._count}
        by_size = sorted(range(len(problem.types)), key=lambda t: -max(problem.types[t].requests.values()))
        for t in by_size:
            one = problem.types[t]
            leaving = one.wanted
            for n in chosen:
                leaving += count.pop((t, n), 0)
                if (t, n) in self._count:
                    count[t, n] = 0
            for n in sorted(one.nodes - chosen, key=lambda n: sum(room[n].get(name, 0) for name in one.requests)):
                fits = min([leaving, *(room[n].get(name, 0) // amount for name, amount in one.requests.items())])
                if fits > 0 and (t, n) in self._count and not one.apart:
                    count[t, n] += fits
                    leaving -= fits
                    for name, amount in one.requests.items():
                        room[n][name] -= amount * fits
        for key, var in self._count.items():
            self.model.add_hint(var, count[key])
        for (t, n), var in self._left.items():
            self.model.add_hint(var, max(0, len(problem.types[t].on.get(n, ())) - count[t, n]))
        for n, is_empty in self._is_empty.items():
            self.model.add_hint(is_empty, n in chosen)

    def _nodes_of(self, t: int) -> list[int]:
        one = self._problem.types[t]
        return sorted({*one.nodes, *one.on})

    def _place(self, t: int, closed: frozenset[int], forbidden: frozenset[tuple[int, int]]) -> None:
        one, model = self._problem.types[t], self.model
        for n in self._nodes_of(t):
            now = len(one.on.get(n, ()))
            room = self._problem.room[n]
            most = min([one.total, *(room.get(name, 0) // amount for name, amount in one.requests.items())])
            most = max(most, now)  # a node that is overcommitted keeps what it has
            if n not in one.nodes or (t, n) in forbidden:
                most = now
            if n in closed:
                most = 0
            count = self._count[t, n] = model.new_int_var(0, most, f"count {t} {n}")
            if now:
                left = self._left[t, n] = model.new_int_var(0, now, f"left {t} {n}")
                model.add(left >= now - count)
            if n in self._is_empty and most:
                model.add(count <= most * (1 - self._is_empty[n]))

    def _fill(self, n: int) -> None:
        """The requests on a node, and pods that keep apart."""
        problem, model = self._problem, self.model
        here = [(one, self._count[t, n]) for t, one in enumerate(problem.types) if (t, n) in self._count]
        for name in {name for one, _ in here for name in one.requests}:
            present = sum(one.requests.get(name, 0) * len(one.on.get(n, ())) for one, _ in here)
            room = max(problem.room[n].get(name, 0), present)
            asked = sum(one.requests[name] * count for one, count in here if name in one.requests)
            # A node that is emptied needs no room: said this way, the linear relaxation knows, too.
            model.add(asked <= room * (1 - self._is_empty[n]) if n in self._is_empty else asked <= room)
        for mark in {mark for one, _ in here for mark in one.apart}:
            alike = [(one, count) for one, count in here if mark in one.apart]
            present = sum(len(one.on.get(n, ())) for one, _ in alike)
            model.add(sum(count for _, count in alike) <= max(1, present))

    def solution(self, solver: Any, is_optimal: bool) -> Solution:
        problem = self._problem
        moves: list[Move] = []
        wanted_on: list[int] = []
        for t, one in enumerate(problem.types):
            leaving: list[tuple[Pod, int]] = []
            arriving: list[int] = []
            for n in self._nodes_of(t):
                now, then = one.on.get(n, []), solver.value(self._count[t, n])
                leaving += [(pod, n) for pod in sorted(now, key=lambda pod: pod.key)[then:]]
                arriving += [n] * max(0, then - len(now))
            moves += [Move(pod, source, target) for (pod, source), target in zip(leaving, arriving, strict=False)]
            wanted_on += arriving[len(leaving) :]
        of_pod = {pod.key: one.cost for one in problem.types for pods in one.on.values() for pod in pods}
        cost = sum(of_pod[move.pod.key] for move in moves)
        emptied = tuple(n for n, var in self._is_empty.items() if solver.value(var))
        bound = solver.best_objective_bound if self._left else 0.0
        return Solution(tuple(moves), cost, max(0.0, bound), emptied, tuple(sorted(wanted_on)), is_optimal)
