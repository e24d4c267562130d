"""The recipes of docs/cookbook.md, each with the configuration file beside it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kubesched import Simulation
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
PRICE = "example.com/price-per-hour"


def member(name: str, gang: str = "g", size: str = "3", cpu: str = "1") -> Pod:
    return make_pod(name, cpu=cpu, labels={"example.com/gang": gang, "example.com/gang-size": size})


@pytest.fixture
def gangs() -> Simulation:
    return Simulation(EXAMPLES / "gang.yaml")


def test_a_gang_starts_together(gangs: Simulation) -> None:
    """The first members say what they wait for; the last one completes it."""
    with gangs as simulation:
        simulation.add(make_node("n", cpu="4"), member("a"), member("b"), make_pod("single", cpu="1"))
        assert simulation.schedule() == {"default/a": None, "default/b": None, "default/single": "n"}
        assert "2 of 3 pods of the gang exist" in simulation.why("default/a")
        simulation.add(member("c"))
        assert set(simulation.advance(5).values()) == {"n"}


def test_a_gang_that_does_not_fit_gives_its_nodes_back(gangs: Simulation) -> None:
    """Others use the room meanwhile; with a second node there is enough for all."""
    with gangs as simulation:
        simulation.add(make_node("n", cpu="2"), member("a"), member("b"), member("c"))
        assert set(simulation.schedule().values()) == {None}
        simulation.add(make_pod("single", cpu="2"))
        assert simulation.schedule()["default/single"] is None, "two members hold the node for now"
        for _ in range(6):
            placed = simulation.advance(10)
        assert placed == {"default/a": None, "default/b": None, "default/c": None, "default/single": "n"}
        simulation.add(make_node("m", cpu="3"))
        for _ in range(6):
            placed = simulation.advance(10)
        assert Counter(placed.values()) == {"m": 3, "n": 1}


def test_gangs_of_one_name_in_two_namespaces_are_two(gangs: Simulation) -> None:
    """Labels are only told apart within a namespace."""
    labels = {"example.com/gang": "g", "example.com/gang-size": "2"}
    with gangs as simulation:
        simulation.add(make_node("n"), *(make_pod("p", namespace=where, labels=labels) for where in ("x", "y")))
        assert set(simulation.schedule().values()) == {None}


def test_cheap_nodes_come_first() -> None:
    """Then the next; a label that is no number costs what an unlabelled node does."""
    with Simulation(EXAMPLES / "cheapest.yaml") as simulation:
        for name, price in {"dear": "3.50", "cheap": "0.10", "odd": "ten", "middle": "0.80"}.items():
            simulation.add(make_node(name, cpu="2", labels={PRICE: price}))
        simulation.add(make_node("unknown", cpu="2"), *(make_pod(f"p{number}", cpu="1") for number in range(9)))
        nodes = list(simulation.schedule().values())
        assert nodes[:4] == ["cheap", "cheap", "middle", "middle"]
        assert nodes[4] == nodes[5] != nodes[6] == nodes[7], "of two that cost the same, one is filled first"
        assert {*nodes[4:8]} == {"odd", "unknown"}
        assert nodes[8] == "dear"


def test_gpu_nodes_are_filled_one_by_one_and_spared_by_others() -> None:
    """Until there is no room elsewhere."""
    with Simulation(EXAMPLES / "gpu_nodes.yaml") as simulation:
        simulation.add(*(make_node(f"gpu-{k}", cpu="16", resources={"nvidia.com/gpu": 4}) for k in range(3)))
        simulation.add(make_node("plain", cpu="4"))
        simulation.add(*(make_pod(f"train-{k}", cpu="1", requests={"nvidia.com/gpu": 1}) for k in range(6)))
        simulation.add(*(make_pod(f"web-{k}", cpu="1") for k in range(5)))
        placed = simulation.schedule()
        trained = Counter(node for pod, node in placed.items() if pod.startswith("default/train"))
        assert sorted(trained.values()) == [2, 4]
        assert [placed[f"default/web-{k}"] for k in range(4)] == ["plain"] * 4
        assert str(placed["default/web-4"]).startswith("gpu-")
