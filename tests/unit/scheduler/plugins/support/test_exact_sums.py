"""Sums as floats: the same numbers as in the table, or the table's own."""

from __future__ import annotations

import numpy as np
import pytest

from kubesched.scheduler.columns import NodeView, WhatIf
from kubesched.scheduler.plugins.support.amounts import Amount
from kubesched.scheduler.plugins.support.capacities import LARGEST_EXACT, Capacities
from kubesched.scheduler.plugins.support.exact_sums import ExactSums
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle


class Scene:
    """Sixteen nodes, and the sums of their pods."""

    def __init__(self) -> None:
        self.handle = FakeHandle().load(*[make_node(f"n{number}", cpu="16", memory="64Gi") for number in range(16)])
        self.cluster = self.handle.cluster
        self.sums = ExactSums.shared(self.handle)
        self.capacities = Capacities()

    def place(self, *nodes: str, memory: str = "1Gi") -> None:
        for number, node in enumerate(nodes):
            self.handle.load(make_pod(f"{node}-{number}-{memory}", node=node, cpu="1", memory=memory))

    def requested(self, nodes: NodeView, resource: str = "memory", request: int = 1) -> Amount:
        return self.sums.requested(resource, request, nodes, self.capacities.of(resource, nodes))

    def assert_right(self, *, are_floats: bool = True) -> None:
        nodes = self.cluster.view()
        for resource, used in (("cpu", nodes.nonzero_cpu), ("memory", nodes.nonzero_memory)):
            capacity = self.capacities.of(resource, nodes)
            told = (self.requested(nodes, resource), self.sums.used(resource, 1, nodes, capacity))
            for sums, expected in zip(told, (nodes.requested(resource), used), strict=True):
                assert np.array_equal(sums, expected)
        assert np.asarray(self.requested(nodes)).dtype.kind == ("f" if are_floats else "i")


def test_they_follow_the_pods() -> None:
    """One by one, many at once, and on nodes that come and go."""
    scene = Scene()
    scene.assert_right()
    scene.place("n3", "n5")
    scene.assert_right()
    scene.cluster.displace(scene.cluster.pods.on_node(3)[0].uid)
    scene.assert_right()
    scene.place(*[f"n{number}" for number in range(12)], memory="2Gi")
    scene.assert_right()
    scene.handle.load(*[make_node(f"more-{number}", cpu="16", memory="64Gi") for number in range(100)])
    scene.place("more-70")
    scene.assert_right()


def test_what_a_float_cannot_hold() -> None:
    """Integers it is, whether it was there at first or came later; and floats again once it is gone."""
    scene = Scene()
    scene.assert_right()
    scene.place("n3", memory="1Ei")
    scene.assert_right(are_floats=False)
    scene.cluster.displace(scene.cluster.pods.on_node(3)[0].uid)
    scene.place(*[f"n{number}" for number in range(9)])
    scene.assert_right()
    scene.handle.load(make_node("n3", cpu="16", memory="1Ei"))
    scene.assert_right(are_floats=False)


@pytest.mark.parametrize(
    ("nodes", "request_"),
    [
        pytest.param(lambda all_nodes: all_nodes.at(np.array([1, 3])), 1, id="some nodes"),
        pytest.param(lambda all_nodes: all_nodes, LARGEST_EXACT + 1, id="a request that a float cannot hold"),
    ],
)
def test_what_the_view_says(nodes, request_) -> None:  # type: ignore[no-untyped-def]  # as the table above gives them
    """Anything but all nodes as they are, and a request of usual size."""
    scene = Scene()
    scene.place("n3")
    view = nodes(scene.cluster.view())
    sums = scene.requested(view, request=request_)
    assert isinstance(sums, np.ndarray)
    assert sums.dtype == np.int64
    assert sums.tolist() == view.requested("memory").tolist()


def test_pods_that_are_only_supposed() -> None:
    """They count, for all that is kept."""
    scene = Scene()
    supposed = WhatIf.added([(1, scene.cluster.templates.info(make_pod("supposed", memory="1Gi")))])
    view = scene.cluster.view().supposing(supposed)
    assert np.array_equal(scene.requested(view), view.requested("memory"))
    assert np.count_nonzero(scene.requested(view)) == 1
