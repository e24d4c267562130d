from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched.scheduler.columns import ClusterTables, sum_states
from kubesched.scheduler.columns.sum_states import SumStates
from kubesched.testing import make_pod

ROWS = 4
SIZES = {1: 100, 2: 250}


class Table:
    """What a row offers and what is taken of it."""

    def __init__(self) -> None:
        self.offered = [1000] * ROWS
        self.taken = [0] * ROWS
        self.looks = 0
        self.states = SumStates(self.read)

    def read(self, row: int) -> tuple[int, ...]:
        self.looks += 1
        return self.offered[row], self.taken[row]

    def step(self, row: int, size: int) -> None:
        self.taken[row] += SIZES[abs(size)] * (1 if size > 0 else -1)
        self.states.step(row, size)

    def resize(self, row: int, offered: int) -> None:
        self.offered[row] = offered
        self.states.node_changed(row)


steps = st.tuples(st.just("step"), st.integers(0, ROWS - 1), st.sampled_from((1, 2, -1, -2)))
resizes = st.tuples(st.just("resize"), st.integers(0, ROWS - 1), st.sampled_from((1000, 2000)))
looks = st.tuples(st.just("look"), st.integers(0, ROWS - 1), st.just(0))


@given(st.lists(st.one_of(steps, resizes, looks), max_size=40), st.sampled_from((2, 1 << 18)))
def test_equal_numbers_mean_equal_sums(changes: list[tuple[str, int, int]], most: int) -> None:
    """For all rows and at all times, also when what is remembered is dropped all the time."""
    table = Table()
    meaning: dict[int, tuple[int, int]] = {}
    with patch.object(sum_states, "_MOST_REMEMBERED", most):
        for what, row, value in changes:
            match what:
                case "step":
                    table.step(row, value)
                case "resize":
                    table.resize(row, value)
            state, sums = table.states.of(row), (table.offered[row], table.taken[row])
            assert meaning.setdefault(state, sums) == sums


def test_steps_that_repeat_are_not_looked_at_again() -> None:
    """A pod of the same size on a node in the same state leads to the same state."""
    table = Table()
    before = [table.states.of(row) for row in range(ROWS)]
    assert len(set(before)) == 1
    table.step(0, 1)
    looks = table.looks
    table.step(1, 1)
    assert table.looks == looks
    assert table.states.of(0) == table.states.of(1) != table.states.of(2)


def test_one_row_stands_for_all_that_are_alike() -> None:
    """`rows[kind[i]]` is in the same state as row i."""
    states = SumStates(lambda row: (row % 3,))
    for row in range(40_000):
        states.node_changed(row)
    alike = states.alike(40_000)
    assert alike is not None
    assert len(alike.rows) == 3
    assert (alike.rows[alike.kind] % 3 == np.arange(40_000) % 3).all()


@pytest.mark.parametrize(
    ("rows", "kinds", "numbers_before"),
    [
        pytest.param(100, 1, 0, id="few rows"),
        pytest.param(40_000, 20_000, 0, id="most rows differ"),
        pytest.param(40_000, 3, 4_000_000, id="numbers have grown large"),
    ],
)
def test_it_does_not_pay(rows: int, kinds: int, numbers_before: int) -> None:
    """Then there is no answer, and everybody is asked about."""
    states = SumStates(lambda row: (row % kinds,))
    states._next = numbers_before
    for row in range(rows):
        states.node_changed(row)
    assert states.alike(rows) is None


def test_sizes_that_no_pod_has_are_forgotten() -> None:
    """Their numbers are not: steps are remembered by them."""
    templates = ClusterTables().templates
    held = templates.info(make_pod("held", cpu="1"))
    numbers = [templates.info(make_pod("p", cpu=f"{number}m")).template.size for number in (1, 2, 3, 1)]
    assert len({held.template.size, *numbers}) == 5
    assert templates.info(make_pod("other", cpu="1", labels={"app": "x"})).template.size == held.template.size
    assert len(templates._sizes) == 1
