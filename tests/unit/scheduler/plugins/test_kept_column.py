"""A column that follows what is taken of resources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kubesched.scheduler.plugins.node_resources_balanced_allocation.kept_column import KeptColumn
from kubesched.scheduler.plugins.support.amounts import Amount
from kubesched.scheduler.plugins.support.capacities import Share
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle


class Scene:
    """Sixteen nodes and a column of the cpu that is taken of them; it notes for how many rows it is worked out."""

    def __init__(self) -> None:
        self.handle = FakeHandle().load(*[make_node(f"n{number}", cpu="16") for number in range(16)])
        self.cluster = self.handle.cluster
        self.asked: list[int] = []
        self.column = KeptColumn(("cpu",), self._taken, self.cluster.nodes)

    def _taken(self, taken: Sequence[Amount], wholes: Sequence[Share]) -> Amount:
        self.asked.append(np.size(wholes[0]))
        assert np.size(taken[0]) == np.size(wholes[0])
        return taken[0] + 0

    def place(self, *nodes: str) -> None:
        for number, node in enumerate(nodes):
            self.handle.load(make_pod(f"{node}-{number}", node=node, cpu="1"))

    def assert_right(self) -> None:
        nodes = self.cluster.view()
        taken, wholes = nodes.requested("cpu"), nodes.allocatable("cpu").astype(np.float64)
        assert np.array_equal(self.column.of(nodes, [taken], [wholes]), taken)


def test_only_changed_rows_are_worked_out_again() -> None:
    """Unless many have changed."""
    scene = Scene()
    scene.assert_right()
    scene.assert_right()
    scene.place("n3", "n5")
    scene.assert_right()
    scene.place(*[f"n{number}" for number in range(9)])
    scene.assert_right()
    assert scene.asked == [16, 1, 1, 16]


def test_nodes_that_come_go_or_change() -> None:
    """The column is right for them, too."""
    scene = Scene()
    scene.assert_right()
    scene.handle.load(make_node("n3", cpu="64"))
    scene.assert_right()
    scene.place("a node that is not there yet")
    scene.assert_right()
    scene.cluster.remove_node("n5")
    scene.assert_right()
    assert scene.asked == [16, 1, 17, 1]
