"""What the library says to those who use it in another way than it is meant."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.errors import ConfigurationError, InvalidObjectError, KubeschedError
from kubesched.testing import make_node, make_pod

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        pytest.param("s.yaml", "'s.yaml' is no configuration: to load a file, pass a Path", id="a file's name"),
        pytest.param({"kind": "K", "profiles": {1, 2}}, "cannot be written as JSON: .* set is not", id="a set in it"),
        pytest.param({**HEAD, "profile": []}, 'unknown field "profile"', id="a mapping with a wrong key"),
    ],
)
def test_a_wrong_configuration(config: Any, problem: str) -> None:
    """It is told what was expected."""
    with pytest.raises(ConfigurationError, match=problem):
        Simulation(config)


def test_a_configuration_may_be_a_mapping() -> None:
    """That is how programs write configurations that differ in one weight."""

    def node_of_a_pod(weight: int) -> str | None:
        plugins = {"multiPoint": {"enabled": [{"name": "ImageLocality", "weight": weight}]}}
        with Simulation({**HEAD, "profiles": [{"plugins": plugins}]}) as simulation:
            simulation.add(make_node("full", images={"nginx:latest": 900_000_000}), make_node("empty"))
            simulation.add(make_pod("old", node="full", cpu="3", memory="12Gi"), make_pod("p", image="nginx", cpu="1"))
            return simulation.schedule()["default/p"]

    assert [node_of_a_pod(weight) for weight in (1, 10)] == ["empty", "full"]


@pytest.mark.parametrize(
    ("thing", "problem"),
    [
        pytest.param("text", "scheduling knows: str$", id="a text"),
        pytest.param(None, "scheduling knows: NoneType$", id="nothing"),
        pytest.param([make_node("n")], r"list; write add\(\*objects\) for several", id="a list"),
        pytest.param({"kind": "Pod"}, r"dict; manifests are loaded by load\(\)", id="a manifest"),
        pytest.param(make_pod(""), "Pod: metadata.name: it has no name", id="a pod without a name"),
    ],
)
def test_what_is_no_object_is_told(thing: Any, problem: str) -> None:
    """Before anything is added."""
    with Simulation() as simulation, pytest.raises(InvalidObjectError, match=problem):
        simulation.add(make_node("n"), thing)
    assert simulation.nodes() == []


def test_a_file_name_is_no_manifest(tmp_path: Path) -> None:
    """Texts and files are told apart by their types."""
    with Simulation() as simulation:
        with pytest.raises(InvalidObjectError, match=r"'c\.yaml' is a text without objects: to load a file, pass a P"):
            simulation.load("c.yaml")
        with pytest.raises(InvalidObjectError, match=r"cannot read .*c\.yaml: No such file"):
            simulation.load(tmp_path / "c.yaml")


def test_kinds_that_scheduling_does_not_look_at_are_left_out() -> None:
    """As `kubesched explain` does; a warning names them."""
    with Simulation() as simulation:
        with pytest.warns(UserWarning, match="left out, since scheduling does not look at them: ConfigMap, Ingress"):
            simulation.load(
                "{kind: Ingress, apiVersion: networking.k8s.io/v1, metadata: {name: i}}\n---\n"
                "{kind: ConfigMap, apiVersion: v1, metadata: {name: c}}\n---\n"
                "{kind: Node, apiVersion: v1, metadata: {name: n}}"
            )
        assert [node.name for node in simulation.nodes()] == ["n"]


@pytest.mark.parametrize("thing", [5, make_node("n")], ids=["a number", "a node"])
def test_only_pods_are_explained(thing: Any) -> None:
    """By name or as they are."""
    with Simulation() as simulation, pytest.raises(InvalidObjectError, match="expected a pod or its name, got "):
        simulation.why(thing)


def test_only_objects_are_removed() -> None:
    """A name alone does not say of which kind it is."""
    with Simulation() as simulation, pytest.raises(InvalidObjectError, match="not an object that scheduling knows"):
        simulation.remove("default/web")


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_time_goes_on_by_finite_steps(seconds: float) -> None:
    """Never back, and never to its end."""
    with Simulation() as simulation:
        before = simulation.clock.monotonic()
        with pytest.raises(ValueError, match="time cannot advance by"):
            simulation.advance(seconds)
        assert simulation.clock.monotonic() == before


def test_a_closed_simulation_can_be_read() -> None:
    """But not used; closing it twice is no mistake."""
    with Simulation() as simulation:
        simulation.add(make_node("n", cpu="1"), make_pod("web", cpu="1"), make_pod("db", cpu="1"))
        simulation.schedule()
    simulation.close()
    assert simulation.placements() == {"default/web": "n", "default/db": None}
    assert repr(simulation) == "<Simulation: nodes 1, pods 2, without a node 1>"
    for use in (simulation.schedule, lambda: simulation.advance(1), lambda: simulation.explain("default/web")):
        with pytest.raises(KubeschedError, match="the simulation is closed"):
            use()
