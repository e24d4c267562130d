"""What per-node plugins see of a node."""

from __future__ import annotations

from kubesched.scheduler.framework.node_info import NodeInfo, node_info_at
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle


def node_info(*pods_cpu: str) -> NodeInfo:
    pods = [make_pod(f"p{number}", cpu=cpu, node="n") for number, cpu in enumerate(pods_cpu)]
    cluster = FakeHandle().load(make_node("n", cpu="4"), *pods).cluster
    return node_info_at(cluster.view(), 0)


def test_sums_of_an_empty_node_are_zero() -> None:
    """A plugin need not know which resources pods on the node request, or which the node offers."""
    node = node_info()
    assert (node.requested["cpu"], node.allocatable["cpu"], node.free["cpu"]) == (0, 4000, 4000)
    assert (node.requested["gpu"], node.allocatable["gpu"], node.free["gpu"]) == (0, 0, 0)
    assert dict(node.requested) == {}, "asking changes nothing"


def test_requests_add_up() -> None:
    """CPU in millicores; a node that is overcommitted has less than nothing left."""
    node = node_info("3", "1500m")
    assert (node.requested["cpu"], node.free["cpu"]) == (4500, -500)
