"""What nodes offer of a resource."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kubesched.scheduler.plugins.support.capacities import Capacities, Capacity
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle

INT64_MAX = (1 << 63) - 1


@st.composite
def parts(draw: st.DrawFn) -> tuple[int, int]:
    """A part and its whole, mostly close to a whole percentage: there a rounded one would show."""
    whole = draw(st.integers(1, INT64_MAX // 100) | st.integers(1, 1 << 40))
    close = whole * draw(st.integers(0, 100)) // 100 + draw(st.integers(-1, 1))
    return min(max(close, 0), whole), whole


@given(st.lists(parts(), min_size=1, max_size=20))
def test_a_percentage_loses_its_fraction(pairs: list[tuple[int, int]]) -> None:
    """Whether the numbers are small enough for floats or not, for many nodes and for one."""
    values, wholes = (np.array(numbers, dtype=np.int64) for numbers in zip(*pairs, strict=True))
    expected = [part * 100 // whole for part, whole in pairs]
    assert np.array_equal(Capacity.of(wholes).percentage(values.copy()), expected)
    assert [Capacity.of(whole).percentage(part) for part, whole in pairs] == expected


def test_capacities_follow_the_nodes() -> None:
    """They are kept until a node changes, comes or goes."""
    handle = FakeHandle().load(make_node("a", cpu="1"), make_node("b", cpu="2"))
    cluster, capacities = handle.cluster, Capacities()
    first = capacities.of("cpu", cluster.view())
    handle.load(make_pod("p", node="a", cpu="1"))
    assert capacities.of("cpu", cluster.view()) is first
    handle.load(make_node("a", cpu="3"), make_node("c", cpu="4"))
    assert np.array_equal(capacities.of("cpu", cluster.view()).amount, [3000, 2000, 4000])
    assert np.array_equal(capacities.of("cpu", cluster.view(np.array([2, 0]))).amount, [4000, 3000])
    assert capacities.of("cpu", cluster.view(np.array([2]))).amount == 4000
    handle.load(make_node("c", cpu="5"))
    assert np.array_equal(capacities.of("cpu", cluster.view(np.array([2, 0]))).amount, [5000, 3000])
