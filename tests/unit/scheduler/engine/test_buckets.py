"""Which of the best rows is taken, and that none is preferred."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from copy import deepcopy
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.scheduler.engine.ranking.buckets import INFEASIBLE, Buckets, best_of


class DrawnAgainError(Exception):
    """The first draw did not count."""


class Fixed(Random):
    """Draws what it was told to, once, and remembers out of how many."""

    def __init__(self, drawn: int) -> None:
        super().__init__()
        self.drawn = drawn
        self.out_of = 0

    def random(self) -> float:
        return Share(self)


class Share(float):
    """A number between 0 and 1 that becomes the draw when a number of rows is multiplied with it."""

    def __new__(cls, chance: Fixed) -> Share:
        return super().__new__(cls)

    def __init__(self, chance: Fixed) -> None:
        self._chance = chance

    def __mul__(self, rows: float) -> float:
        if self._chance.out_of:
            raise DrawnAgainError
        self._chance.out_of = int(rows)
        return self._chance.drawn


def chosen_rows(kept: Buckets) -> Counter[int]:
    """Every row that a draw can give, each as often as there are draws that give it."""
    kept.best(Random(1))  # rows that are not the best any more may stand in the way of the first draw
    first = Fixed(0)
    with suppress(DrawnAgainError):
        deepcopy(kept).best(first)
    chosen: Counter[int] = Counter()
    for drawn in range(first.out_of):
        with suppress(DrawnAgainError):
            chosen[deepcopy(kept).best(Fixed(drawn))] += 1
    return chosen


def tied_rows(totals: list[int]) -> list[int]:
    highest = max(totals)
    return [row for row, total in enumerate(totals) if total == highest] if highest > INFEASIBLE else []


@pytest.mark.parametrize(
    "totals",
    [
        pytest.param([7], id="one row"),
        pytest.param([1, 3, 2, 3], id="two of four"),
        pytest.param([0] * 64, id="all rows"),
        pytest.param([5] + [0] * 300 + [5], id="the first and the last"),
        pytest.param([1 << 30, 0, 1 << 30], id="two of three, with large weights"),
        pytest.param([-1] * 70 + [0], id="one feasible row, worth nothing"),
    ],
)
def test_every_best_row_is_chosen_by_exactly_one_draw(totals: list[int]) -> None:
    """Hence each with the same probability."""
    assert chosen_rows(Buckets(np.array(totals))) == Counter(tied_rows(totals))


@pytest.mark.parametrize("totals", [pytest.param([], id="no rows"), pytest.param([-1] * 65, id="no feasible row")])
def test_without_a_feasible_row_there_is_no_best(totals: list[int]) -> None:
    """It is told by -1."""
    assert Buckets(np.array(totals, dtype=np.int64)).best(Random(1)) == -1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    totals=st.lists(st.integers(-1, 3), min_size=1, max_size=200),
    changes=st.lists(st.tuples(st.integers(0, 199), st.integers(-1, 4), st.booleans()), max_size=30),
)
def test_changes_keep_the_choice_fair(totals: list[int], changes: list[tuple[int, int, bool]]) -> None:
    """After any changes, with or without draws in between, the choice is that among the rows as they are."""
    kept = Buckets(np.array(totals, dtype=np.int64))
    for row, total, draws in changes:
        if row < len(totals):
            totals[row] = total
            kept.set(row, total)
        if draws:
            kept.best(Random(1))
    if tied := tied_rows(totals):
        assert chosen_rows(kept) == Counter(tied)
    assert kept.by_row.tolist() == totals


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    totals=st.lists(st.integers(-1, 3), min_size=1, max_size=60),
    batches=st.lists(st.dictionaries(st.integers(0, 59), st.integers(-1, 4)), max_size=4),
)
def test_many_changes_at_once_keep_the_choice_fair(totals: list[int], batches: list[dict[int, int]]) -> None:
    """As if they had come one by one."""
    kept = Buckets(np.array(totals, dtype=np.int64))
    for batch in batches:
        changes = {row: total for row, total in batch.items() if row < len(totals)}
        for row, total in changes.items():
            totals[row] = total
        kept.set_all(np.array([*changes], dtype=np.intp), np.array([*changes.values()], dtype=np.int64))
        kept.best(Random(1))
    assert kept.by_row.tolist() == totals
    assert kept.sizes == Counter(totals)
    if tied := tied_rows(totals):
        assert chosen_rows(kept) == Counter(tied)


def test_positions_are_chosen_evenly_too() -> None:
    """`best_of` is for scores that are not kept."""
    totals = np.array([2, 9, 9, 1, 9])
    assert [best_of(totals, Fixed(k)) for k in range(3)] == [1, 2, 4]


def test_the_same_seed_gives_the_same_choices() -> None:
    """Chance is handed in."""
    kept = Buckets(np.zeros(500, dtype=np.int64))
    first, second = Random(5), Random(5)
    assert [kept.best(first) for _ in range(20)] == [kept.best(second) for _ in range(20)]
