from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.scheduler.columns import ClusterTables, PodTemplate, WhatIf
from kubesched.testing import make_node, make_pod


def cluster_with(*pods: tuple[int, int]) -> ClusterTables:
    """Three nodes and pods as (node, cpu)."""
    cluster = ClusterTables()
    for k in range(3):
        cluster.set_node(make_node(f"n{k}"))
    for k, (node, cpu) in enumerate(pods):
        cluster.place(cluster.templates.info(make_pod(f"p{k}", cpu=str(cpu), node=f"n{node}")), f"n{node}")
    return cluster


def rows(*values: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    return np.array(values, dtype=np.intp)


def cpu(template: PodTemplate) -> int:
    return template.requests.get("cpu", 0) // 1000


def test_removed_and_added() -> None:
    """Both at once, each on its row; the templates of both are known."""
    cluster = cluster_with((0, 1), (0, 2), (1, 4))
    come = cluster.templates.info(make_pod("new", cpu="8"))
    what_if = WhatIf.removed(cluster.pods, rows(0, 2), rows(0, 1)) | WhatIf.added([(1, come)])
    assert what_if.change(cpu, 3).tolist() == [-1, 4, 0]
    assert [info.key for info in what_if.pods_at(1, cluster.pods.on_node(1))] == ["default/new"]
    assert [info.key for info in what_if.pods_at(0, cluster.pods.on_node(0))] == ["default/p1"]
    assert [len(side) for side in what_if.changes_at(1)] == [1, 1]


def test_a_pod_that_is_there_again() -> None:
    """It is as if it had never been away."""
    cluster = cluster_with((0, 1), (0, 2))
    gone = WhatIf.removed(cluster.pods, rows(0, 1), rows(0, 0))
    what_if = gone | WhatIf.changed(cluster.pods, rows(1), rows(0), np.ones(1, dtype=np.int64))
    assert what_if.change(cpu, 1).tolist() == [-1]
    assert [info.key for info in what_if.pods_at(0, cluster.pods.on_node(0))] == ["default/p1"]


def test_terminating_pods_may_be_left_out() -> None:
    """Counts that do not know them must not lose them."""
    cluster = cluster_with()
    cluster.place(cluster.templates.info(make_pod("leaving", cpu="1", node="n0", deleting=True)), "n0")
    what_if = WhatIf.removed(cluster.pods, rows(0), rows(0))
    assert what_if.change(cpu, 1).tolist() == [-1]
    assert what_if.change(cpu, 1, with_terminating=False).tolist() == [0]


PODS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=8)


@settings(max_examples=60)
@given(pods=PODS, data=st.data())
def test_remembered_sums_follow_every_change(pods: list[tuple[int, int]], data: st.DataObject) -> None:
    """Step by step or from scratch: the same sums."""
    cluster = cluster_with(*pods)
    is_gone = np.ones(len(pods), dtype=np.bool_)
    positions = cluster.pods.node_row[cluster.pods.used()].astype(np.intp)
    what_if = WhatIf.removed(cluster.pods, np.arange(len(pods)), positions)
    for _ in range(data.draw(st.integers(0, 6))):
        k = data.draw(st.integers(0, len(pods) - 1))
        sign = np.array([1 if is_gone[k] else -1], dtype=np.int64)
        is_gone[k] = not is_gone[k]
        what_if |= WhatIf.changed(cluster.pods, rows(k), positions[[k]], sign)
        expected = [-sum(c for j, (n, c) in enumerate(pods) if n == node and is_gone[j]) for node in range(3)]
        assert what_if.change(cpu, 3, key="cpu").tolist() == expected
        assert what_if.change(cpu, 3).tolist() == expected
        for node in range(3):
            there = {info.key for info in what_if.pods_at(node, cluster.pods.on_node(node))}
            assert there == {f"default/p{j}" for j, (n, _) in enumerate(pods) if n == node and not is_gone[j]}


def test_positions_of_rows() -> None:
    """Rows outside the view have none."""
    cluster = cluster_with()
    assert cluster.view().positions_of(rows(2, 0)).tolist() == [2, 0]
    assert cluster.view(rows(2, 1)).positions_of(rows(0, 1, 2)).tolist() == [-1, 1, 0]
