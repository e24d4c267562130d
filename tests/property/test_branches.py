"""A branch of a simulation leaves nothing behind, and what was tried before never shows in an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.apps.plan.hypotheses import AddNodes, ChangeNode, Cordon, Delete, Drain, Hypothesis, Remove, Scale
from kubesched.objects import Pod
from kubesched.objects.affinity import Taint
from kubesched.testing import make_node, make_pdb, make_pod

ZONES = ("a", "b", "c")
GATES = "GenericWorkload=true"


def spread(app: str, when: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    return {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": when,
        "labelSelector": selector,
    }


def apart(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def random_cluster(random: Random) -> list[Any]:
    """A few nodes with pods of several kinds; some wait, some are of other priorities, some have budgets."""
    nodes = [
        make_node(f"n{i}", cpu=str(random.choice((2, 4, 8))), pods=random.choice((4, 20)), zone=random.choice(ZONES))
        for i in range(random.randint(2, 6))
    ]
    objects: list[Any] = list(nodes)
    for app in (f"app{i}" for i in range(random.randint(1, 5))):
        how: dict[str, Any] = random.choice(
            (
                {},
                {"spread": [spread(app, "DoNotSchedule")]},
                {"spread": [spread(app, "ScheduleAnyway")]},
                {"affinity": apart(app)},
            )
        )
        owner = {"kind": random.choice(("ReplicaSet", "StatefulSet", "Job", "DaemonSet")), "name": app, "uid": app}
        priority = random.choice((0, 0, 10, 100))
        cpu = random.choice(("250m", "500m", "1", "1500m"))
        for i in range(random.randint(1, 6)):
            objects.append(
                make_pod(
                    f"{app}-{i}",
                    cpu=cpu,
                    labels={"app": app},
                    priority=priority,
                    owner=owner if random.random() < 0.9 else None,
                    node=random.choice(nodes).metadata.name if owner["kind"] == "DaemonSet" else "",
                    **how,
                )
            )
        if random.random() < 0.5:
            allowed = random.randint(0, 2)
            objects.append(make_pdb(app, selector={"matchLabels": {"app": app}}, disruptions_allowed=allowed))
    return objects


def random_hypotheses(random: Random, objects: Sequence[Any]) -> list[Hypothesis]:
    node = random.choice([obj.metadata.name for obj in objects if type(obj).__name__ == "Node"])
    pod = random.choice([obj for obj in objects if isinstance(obj, Pod)])
    owner = pod.metadata.controller_of
    options: list[Hypothesis] = [
        Drain(node),
        Drain("topology.kubernetes.io/zone in (a, b)"),
        Remove(node),
        Cordon(node),
        AddNodes(random.randint(1, 2), node),
        ChangeNode(node, taints={"x": Taint(key="x", effect=random.choice(("NoSchedule", "NoExecute")))}),
        ChangeNode(node, allocatable={"cpu": random.choice(("1", "16"))}),
        Delete(f"pod/{pod.metadata.name}"),
    ]
    if owner is not None and owner.kind != "DaemonSet":
        kind = {"ReplicaSet": "rs", "StatefulSet": "sts", "Job": "job"}[owner.kind]
        options.append(Scale(f"{kind}/{owner.name}", random.randint(0, 9)))
    return random.sample(options, random.randint(1, 2))


def settled(objects: Sequence[Any]) -> Simulation:
    simulation = Simulation(feature_gates=GATES)
    simulation.add(*objects)
    simulation.schedule()
    return simulation


def outcome(simulation: Simulation, hypotheses: Sequence[Hypothesis]) -> Any:
    try:
        return simulation.what_if(*hypotheses)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("seed", range(60))
def test_outcomes_do_not_depend_on_what_was_tried_before(seed: int) -> None:
    """Hypotheses on one simulation, in two orders, and each on a fresh one: the same reports, and nothing is left."""
    random = Random(seed)
    objects = random_cluster(random)
    questions = [random_hypotheses(random, objects) for _ in range(4)]
    fresh = []
    for question in questions:
        with settled(objects) as simulation:
            fresh.append(outcome(simulation, question))
    with settled(objects) as simulation:
        before = simulation.placements(), list(simulation.events)
        assert [outcome(simulation, question) for question in questions] == fresh
        assert [outcome(simulation, question) for question in reversed(questions)] == fresh[::-1]
        assert (simulation.placements(), simulation.events) == before
        each = simulation.what_if_each("node")
        assert simulation.what_if_each("node") == each
        assert (simulation.placements(), simulation.events) == before
