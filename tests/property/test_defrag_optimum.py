"""Plans against brute force: the solver's optimum is the optimum, and what it proves impossible is impossible.

The checker knows clusters as the numbers that they were made from, and shares no code with the planner.
KUBESCHED_CLUSTERS=200 runs all of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.apps.plan.defrag.goals import DrainNodes, Fit, FreeNodes, Goal
from kubesched.apps.plan.defrag.plan import DefragPlan, defrag
from kubesched.apps.plan.defrag.problem import build
from kubesched.apps.plan.defrag.solving import Solution, Unsolved, solve
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod

CLUSTERS = int(os.environ.get("KUBESCHED_CLUSTERS", "30"))
NODE_CPU, NODE_GPU = 8, 4


@dataclass(frozen=True)
class Item:
    """A pod in numbers. `only` is the one pool that takes it, `apart` pods do not share a node, `fixed` ones stay."""

    name: str
    cpu: int
    gpu: int
    node: int
    only: str = ""
    apart: bool = False
    fixed: bool = False

    def pod(self, node: str = "") -> Pod:
        term = {"labelSelector": {"matchLabels": {"apart": "yes"}}, "topologyKey": "kubernetes.io/hostname"}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        return make_pod(
            self.name,
            cpu=str(self.cpu),
            requests={"example.com/gpu": self.gpu} if self.gpu else {},
            labels={"apart": "yes"} if self.apart else {},
            affinity=affinity if self.apart else None,
            node_selector={"pool": self.only} if self.only else {},
            owner=None if self.fixed else {"kind": "ReplicaSet", "name": "rs", "uid": "rs"},
            node=node,
        )


@dataclass(frozen=True)
class Cluster:
    pools: tuple[str, ...]
    items: tuple[Item, ...]

    def allows(self, where: dict[str, int], extra: tuple[tuple[Item, int], ...] = ()) -> bool:
        """Whether all pods can be there together."""
        placed = [(item, where[item.name]) for item in self.items] + list(extra)
        for node, pool in enumerate(self.pools):
            here = [item for item, at in placed if at == node]
            if sum(item.cpu for item in here) > NODE_CPU or sum(item.gpu for item in here) > NODE_GPU:
                return False
            if sum(item.apart for item in here) > 1 or any(item.only not in ("", pool) for item in here):
                return False
        return True

    def objects(self) -> list[Any]:
        nodes = [
            make_node(f"n{i}", cpu=str(NODE_CPU), resources={"example.com/gpu": NODE_GPU}, labels={"pool": pool})
            for i, pool in enumerate(self.pools)
        ]
        return [*nodes, *(item.pod(f"n{item.node}") for item in self.items)]


def random_cluster(random: Random) -> Cluster:
    pools = tuple(random.choice("ab") for _ in range(random.randint(2, 4)))
    cluster = Cluster(pools, ())
    for number in range(random.randint(2, 6)):
        item = Item(
            f"p{number}",
            cpu=random.randint(1, 4),
            gpu=random.choice((0, 0, 1, 2)),
            node=random.randrange(len(pools)),
            only=random.choice(("", "", "", "a")),
            apart=random.random() < 0.2,
            fixed=random.random() < 0.15,
        )
        grown = Cluster(pools, (*cluster.items, item))
        if grown.allows({one.name: one.node for one in grown.items}):
            cluster = grown
    return cluster


def optimum(cluster: Cluster, goal: str, wanted: Item | None, *, all_move: bool = False) -> int | None:
    """The fewest moves, by trying all placements; None if none reaches the goal."""
    free = [item for item in cluster.items if all_move or not item.fixed]
    best: int | None = None
    for targets in product(range(len(cluster.pools)), repeat=len(free)):
        where = {item.name: item.node for item in cluster.items}
        where |= {item.name: target for item, target in zip(free, targets, strict=True)}
        moves = sum(where[item.name] != item.node for item in cluster.items)
        if (best is None or moves < best) and _reaches(cluster, where, goal, wanted):
            best = moves
    return best


def _reaches(cluster: Cluster, where: dict[str, int], goal: str, wanted: Item | None) -> bool:
    if wanted is not None:
        return any(cluster.allows(where, ((wanted, node),)) for node in range(len(cluster.pools)))
    if not cluster.allows(where):
        return False
    if goal == "drain":
        return 0 not in where.values()
    return len(set(range(len(cluster.pools))) - set(where.values())) >= 1


def a_goal(random: Random, cluster: Cluster) -> tuple[str, Item | None, Goal]:
    kind = random.choice(("fit", "fit", "free", "drain"))
    if kind == "fit":
        wanted = Item("wanted", random.randint(2, 8), random.choice((0, 2, 4)), -1, random.choice(("", "a")))
        return kind, wanted, Fit([wanted.pod()])
    return kind, None, FreeNodes(1) if kind == "free" else DrainNodes("n0")


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_the_optimum_is_the_optimum(seed: int) -> None:
    """Solver and certificate say what brute force says, within what may move and at all."""
    random = Random(seed)
    cluster = random_cluster(random)
    kind, wanted, _ = a_goal(random, cluster)
    with Simulation() as simulation:
        simulation.add(*cluster.objects())
        for all_move in (False, True):
            pods = [wanted.pod()] if wanted is not None else []
            problem = build(simulation, lambda pod: 1, pods, within_budgets=not all_move)
            closed = [0] if kind == "drain" else []
            found = solve(problem, empty=1 if kind == "free" else 0, closed=closed, workers=1)
            best = optimum(cluster, kind, wanted, all_move=all_move)
            if best is None:
                assert found == Unsolved(is_proved=True)
                continue
            assert isinstance(found, Solution)
            assert (found.cost, found.bound, found.is_optimal) == (best, best, True)
            where = {item.name: item.node for item in cluster.items}
            where |= {move.pod.metadata.name: move.target for move in found.moves}
            assert _reaches(cluster, where, kind, wanted)


@pytest.mark.parametrize("seed", range(CLUSTERS))
def test_every_step_of_a_plan_is_legal(seed: int) -> None:
    """A plan reaches its goal, and whatever it is at any moment, the cluster allows it."""
    random = Random(seed)
    cluster = random_cluster(random)
    kind, wanted, goal = a_goal(random, cluster)
    with Simulation() as simulation:
        simulation.add(*cluster.objects())
        before = simulation.placements()
        plan = defrag(simulation, goal, with_solver=bool(seed % 3))
        assert simulation.placements() == before
    best = optimum(cluster, kind, wanted)
    if not plan.is_reached:
        assert plan.why
        assert not plan.proof or best is None
        return
    assert best is not None
    assert plan.moves >= best
    assert plan.lower_bound <= best
    assert plan.gap != 0 or plan.moves == best
    _replay(plan, cluster, kind, wanted)


def _replay(plan: DefragPlan, cluster: Cluster, kind: str, wanted: Item | None) -> None:
    where = {item.name: item.node for item in cluster.items}
    fixed = {item.name for item in cluster.items if item.fixed}
    for step in plan.steps:
        if step.action == "evict":
            name = step.pod.removeprefix("default/")
            assert name not in fixed
            assert where[name] == int(step.on.removeprefix("n"))
            where[name] = int(step.lands_on.removeprefix("n"))
            assert cluster.allows(where)
    extra = ((wanted, int(plan.placed[0].node.removeprefix("n"))),) if wanted is not None else ()
    assert cluster.allows(where, extra)
    assert _reaches(cluster, where, kind, wanted)
