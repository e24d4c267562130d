"""The order in which a sample is taken."""

from __future__ import annotations

import pytest

from kubesched.scheduler.state.node_tree import NodeTree, zone_of
from kubesched.testing import make_node

OLD_ZONE, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


def tree(**zones: str) -> NodeTree:
    made = NodeTree()
    for name, zone in zones.items():
        made.add(make_node(name, zone=zone))
    return made


@pytest.mark.parametrize(
    ("zones", "order"),
    [
        pytest.param({}, [], id="no node"),
        pytest.param({"a": "", "b": ""}, ["a", "b"], id="no zones: as they came"),
        pytest.param({"a": "x", "b": "x", "c": "y"}, ["a", "c", "b"], id="one of each zone, then the next"),
        pytest.param(
            {"a": "x", "b": "y", "c": "y", "d": "y", "e": "z", "f": "z"},
            ["a", "b", "e", "c", "f", "d"],
            id="until the last zone is exhausted",
        ),
    ],
)
def test_zones_take_turns(zones: dict[str, str], order: list[str]) -> None:
    """So that a sample spreads over them."""
    assert tree(**zones).order() == order


def test_a_node_that_moves_or_goes_changes_the_order() -> None:
    """And the version, which tells whoever keeps the order; nothing else changes it."""
    made = tree(a="x", b="x", c="y")
    version = made.version
    made.add(make_node("a", zone="x", labels={"other": "label"}))
    made.remove("nobody")
    assert made.version == version
    made.add(make_node("a", zone="y"))
    assert made.order() == ["b", "c", "a"]
    made.remove("b")
    assert made.order() == ["c", "a"]
    assert len(made) == 2
    assert made.version > version


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ("", "")),
        ({ZONE: "z"}, ("", "z")),
        ({ZONE: "z", REGION: "r"}, ("r", "z")),
        ({OLD_ZONE: "old", ZONE: "new"}, ("", "old")),
    ],
)
def test_where_a_node_is(labels: dict[str, str], zone: tuple[str, str]) -> None:
    """The old labels win where both exist (GetZoneKey)."""
    assert zone_of(labels) == zone
