"""Answers of one filter are kept together, though their reasons change from one asking to the next."""

from __future__ import annotations

import numpy as np
import pytest

from kubesched.scheduler.columns import Integers
from kubesched.scheduler.engine.answers.filter_column import FilterColumn
from kubesched.scheduler.framework import Code, DependsOn, FilterPlugin, Reason, Status, Verdict
from kubesched.scheduler.framework.verdict import MOST_REASONS, status_of

CPU = Reason.unschedulable("Insufficient cpu")
MEMORY = Reason.unschedulable("Insufficient memory")
NEVER = Reason.unresolvable("never")


class AnyFilter(FilterPlugin):
    name = "Any"


def column(*, rows: int = 4) -> FilterColumn:
    return FilterColumn(AnyFilter(), DependsOn.NODE, rows)


def bits(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


def statuses(kept: FilterColumn) -> list[Status]:
    return [status_of(int(row), kept.reasons, "Any") for row in kept.bits]


def test_fresh_answers_for_all_rows_replace_everything() -> None:
    """Also the reasons."""
    kept = column()
    assert kept.merge(slice(0, 4), Verdict(bits(1, 0, 1, 0), (CPU,)))
    assert kept.merge(slice(0, 4), Verdict(bits(0, 1, 0, 0), (NEVER,)))
    assert [status.reasons for status in statuses(kept)] == [(), ("never",), (), ()]
    assert kept.fits(np.array([0, 1])).tolist() == [True, False]


def test_other_reasons_for_some_rows_leave_the_others_as_they_were() -> None:
    """Bits are translated where the reasons come in another order."""
    kept = column()
    assert kept.merge(slice(0, 4), Verdict(bits(1, 3, 2, 0), (CPU, MEMORY)))
    assert kept.merge(np.array([1, 3]), Verdict(bits(1, 6), (NEVER, MEMORY, CPU)))
    assert [status.reasons for status in statuses(kept)] == [
        ("Insufficient cpu",),
        ("never",),
        ("Insufficient memory",),
        ("Insufficient cpu", "Insufficient memory"),
    ]
    assert statuses(kept)[1].code is Code.UNRESOLVABLE


@pytest.mark.parametrize(
    ("said", "kept_as"),
    [
        pytest.param(Status.unschedulable("a", "b"), (Code.UNSCHEDULABLE, ("a", "b")), id="two reasons"),
        pytest.param(Status.unresolvable("a"), (Code.UNRESOLVABLE, ("a",)), id="hopeless"),
        pytest.param(Status.pending("a"), (Code.PENDING, ("a",)), id="until something outside happens"),
        pytest.param(Status.unschedulable(), (Code.UNSCHEDULABLE, ()), id="without a word"),
    ],
)
def test_a_node_s_own_words_are_kept(said: Status, kept_as: tuple[Code, tuple[str, ...]]) -> None:
    """Per-node filters answer with statuses."""
    kept = column()
    verdict = Verdict(bits(0, 1 << MOST_REASONS), special={1: said})
    assert kept.merge(np.array([0, 2]), verdict)
    assert kept.fits(slice(0, 4)).tolist() == [True, True, False, True]
    assert (statuses(kept)[2].code, statuses(kept)[2].reasons) == kept_as


@pytest.mark.parametrize("known", [0, 10, MOST_REASONS])
def test_too_many_reasons_cannot_be_kept_together(known: int) -> None:
    """The column says so, and stays as it was."""
    kept = column(rows=100)
    assert kept.merge(slice(0, 1), Verdict(bits(1), tuple(Reason(f"known {k}") for k in range(known)) or (CPU,)))
    before = kept.bits.copy()
    words = {k: Status.unschedulable(f"special {k}") for k in range(70)}
    verdict = Verdict(np.full(70, 1 << MOST_REASONS), tuple(Reason(f"new {k}") for k in range(60)), words)
    assert not kept.merge(np.arange(10, 80), verdict)
    assert (kept.bits == before).all()


def test_as_many_as_there_are_bits_can() -> None:
    """One more cannot."""
    words = {k: Status.unschedulable(f"special {k}") for k in range(MOST_REASONS)}
    kept = column(rows=100)
    assert kept.merge(np.arange(MOST_REASONS), Verdict(np.full(MOST_REASONS, 1 << MOST_REASONS), special=words))
    assert [status.reasons for status in statuses(kept)][:MOST_REASONS] == [(f"special {k}",) for k in words]
    assert not kept.merge(np.array([99]), Verdict(bits(1 << MOST_REASONS), special={0: Status.unschedulable("more")}))
