"""A column that follows the sums of nodes."""

from __future__ import annotations

import numpy as np

from kubesched.columns import NodeView, WhatIf
from kubesched.plugins.kept_column import KeptColumn
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle


class Scene:
    """Sixteen nodes and a column of the number of pods on them; it notes how many rows it was worked out for."""

    def __init__(self) -> None:
        self.handle = FakeHandle().load(*[make_node(f"n{number}") for number in range(16)])
        self.cluster = self.handle.cluster
        self.asked: list[int] = []
        self.column = KeptColumn(self.cluster.nodes, self._count)

    def _count(self, nodes: NodeView) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        self.asked.append(len(nodes))
        return nodes.pod_count.copy()

    def place(self, *nodes: str) -> None:
        for number, node in enumerate(nodes):
            self.handle.load(make_pod(f"{node}-{number}", node=node))

    def assert_right(self) -> None:
        assert np.array_equal(self.column.of(self.cluster.view()), self.cluster.view().pod_count)


def test_only_changed_rows_are_worked_out_again() -> None:
    """Unless too many have changed for that to pay."""
    scene = Scene()
    scene.assert_right()
    scene.assert_right()
    scene.place("n3", "n5")
    scene.assert_right()
    scene.place("n1", "n2", "n3")
    scene.assert_right()
    assert scene.asked == [16, 2, 16]


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


def test_other_views_are_worked_out_on_the_spot() -> None:
    """Some of the rows, or all of them with a pod that is not there."""
    scene = Scene()
    scene.assert_right()
    added = WhatIf.added([(1, scene.cluster.templates.info(make_pod("supposed")))])
    assert np.array_equal(scene.column.of(scene.cluster.view().supposing(added)), [0, 1, *[0] * 14])
    assert np.array_equal(scene.column.of(scene.cluster.view(np.array([1, 2]))), [0, 0])
    scene.assert_right()
    assert scene.asked == [16, 16, 2]
