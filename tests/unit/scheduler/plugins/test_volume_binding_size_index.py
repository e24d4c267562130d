"""The index of items by size: they are found by the values of a label, whatever numbers these have."""

from __future__ import annotations

from kubesched.objects.affinity import NodeSelector
from kubesched.objects.codec import convert
from kubesched.objects.node_selectors import compile_node_selector
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.plugins.volume_binding.size_index import SizeIndex
from kubesched.testing import make_node

ZONE = "topology.kubernetes.io/zone"


def test_a_value_with_the_number_of_another_is_not_taken_for_it() -> None:
    """Zone a is gone, and b got its number: what is in a is out of reach."""
    in_a = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
    index, cluster = SizeIndex(), ClusterTables()
    index.add("class", "pv", 1, compile_node_selector(convert({"nodeSelectorTerms": [in_a]}, NodeSelector)))
    cluster.set_node(make_node("n", zone="a"))
    assert [index.name(item) for item in index.smallest(["class"], 1, cluster.view())] == ["pv"]
    cluster.remove_node("n")
    cluster.set_node(make_node("m", zone="b"))
    assert cluster.nodes.label(ZONE).values == ["b"]
    assert index.smallest(["class"], 1, cluster.view()).tolist() == [-1]
