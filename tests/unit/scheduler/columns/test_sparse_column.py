from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.columns.sparse_column import SparseColumn
from kubesched.testing import make_node, make_pod

CAPACITY = 64


@given(
    writes=st.lists(st.tuples(st.integers(0, CAPACITY - 1), st.integers(0, 5)), max_size=30),
    rows=st.lists(st.integers(0, CAPACITY - 1), max_size=40),
    grows=st.booleans(),
)
def test_reads_like_an_array(writes: list[tuple[int, int]], rows: list[int], grows: bool) -> None:
    """However many rows have an amount, and whatever is asked for."""
    sparse, plain = SparseColumn(CAPACITY), np.zeros(CAPACITY, dtype=np.int64)
    for row, amount in writes:
        sparse[row] = amount
        plain[row] = amount
    if grows:
        sparse.grow(2 * CAPACITY)
        plain = np.concatenate([plain, np.zeros_like(plain)])
    asked = np.array(rows, dtype=np.intp)
    for answer, expected in ((sparse[asked], plain[asked]), (sparse[slice(0, 50)], plain[:50])):
        assert answer.dtype == np.int64
        assert answer.tolist() == expected.tolist()
    assert [sparse[row] for row in range(len(plain))] == plain.tolist()


def test_a_row_has_its_own_resources_only() -> None:
    """However many names of resources there are in the cluster."""
    cluster = ClusterTables()
    for k in range(9):
        cluster.set_node(make_node(f"n{k}", resources={f"example.com/r{k}": k + 1}))
    cluster.place(cluster.templates.info(make_pod(requests={"example.com/r3": 2, "example.com/other": 1})), "n3")
    table = cluster.nodes
    names = [table.resources.values[resource] for resource in table.resources_of(3)]
    assert names == ["cpu", "memory", "ephemeral-storage", "example.com/r3", "example.com/other"]
    assert cluster.view().allocatable("example.com/r3").tolist() == [0, 0, 0, 4, 0, 0, 0, 0, 0]
    assert cluster.view().requested("example.com/r3").tolist() == [0, 0, 0, 2, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        pytest.param({"a.com/x": 1}, {"a.com/x": 1}, True, id="the same of the same"),
        pytest.param({"a.com/x": 1}, {"a.com/y": 1}, False, id="as much of another resource"),
        pytest.param({"a.com/x": 0}, {}, True, id="nothing of a resource, and no such resource"),
    ],
)
def test_equal_sums(one: dict[str, int], other: dict[str, int], alike: bool) -> None:
    """Nodes are alike if they offer the same."""
    cluster = ClusterTables()
    cluster.set_node(make_node("a", resources=one))
    cluster.set_node(make_node("b", resources=other))
    assert (cluster.nodes.sums.of(0) == cluster.nodes.sums.of(1)) is alike


def test_a_row_that_is_used_again_starts_with_nothing() -> None:
    """Of the resources that the node before it had, too."""
    cluster = ClusterTables()
    cluster.set_node(make_node("a", resources={"a.com/x": 1}))
    cluster.remove_node("a")
    cluster.set_node(make_node("b"))
    assert cluster.nodes.row_of == {"b": 0}
    assert len(cluster.nodes.resources_of(0)) == 3
    assert cluster.view().allocatable("a.com/x").tolist() == [0]
