"""The map is sent once, then what has changed."""

from __future__ import annotations

from msgspec.structs import replace
from tests.unit.apps.page.conftest import ZONE, small_cluster, source_of

from kubesched.apps.page.node_map import NodeMap
from kubesched.objects import Node
from kubesched.testing import make_node, make_pod


def test_everything_as_columns() -> None:
    """Labels are values with a place for each node; one that tells every node from the others is left out."""
    nodes = NodeMap(source_of(small_cluster()).assembled.cache.cluster.nodes)
    nodes.advance()
    everything = nodes.everything()
    assert everything["names"] == ["node-1", "node-2", "node-3"]
    assert everything["requested"]["cpu"] == [3000, 0, 0]
    assert everything["allocatable"]["cpu"] == [4000, 4000, 2000]
    assert everything["requested"]["pods"] == [1, 0, 0]
    assert everything["labels"] == {ZONE: {"values": ["a", "b"], "index": [0, 1, 1]}}
    assert nodes.totals()["cpu"] == [3000, 10000]


def test_only_what_changed() -> None:
    """A pod comes, a node is cordoned, a node goes, another one with a new resource comes."""
    assembled = source_of(small_cluster()).assembled
    nodes = NodeMap(assembled.cache.cluster.nodes)
    nodes.advance()
    assert nodes.advance() == {}

    pod = make_pod("new", cpu="500m", node="node-2", uid="new")
    assembled.handlers.add(pod)
    assert nodes.advance() == {
        "rows": [1],
        "requested": {"cpu": [500], "memory": [0], "pods": [1]},
    }

    old = assembled.objects.of(Node).get("node-3")
    assert old is not None
    cordoned = replace(old, spec=replace(old.spec, unschedulable=True))
    assembled.handlers.update(old, cordoned)
    change = nodes.advance()
    assert [(node["name"], node["cordoned"]) for node in change["nodes"]] == [("node-3", 1)]
    assert "rows" not in change

    assembled.handlers.delete(cordoned)
    assert nodes.advance() == {"gone": [2]}

    assembled.handlers.add(make_node("node-4", cpu="2", resources={"example.com/gpu": "8"}))
    change = nodes.advance()
    assert [node["allocatable"]["example.com/gpu"] for node in change["nodes"]] == [8]
    assert "example.com/gpu" in nodes.everything()["requested"]
