"""Totals by classes of rows equal those that are added up row by row, and ties are drawn fairly."""

from __future__ import annotations

from collections import Counter
from itertools import count
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.scheduler.columns import ClusterTables, Integers, LabelColumn, PodTemplate
from kubesched.scheduler.engine.answers.score_column import ScoreColumn
from kubesched.scheduler.engine.ranking import score_classes as module
from kubesched.scheduler.engine.ranking.buckets import INFEASIBLE
from kubesched.scheduler.engine.ranking.score_classes import ByDomain, ByValue, ClassBuckets, Classifier
from kubesched.scheduler.framework import CycleState, DependsOn, ScorePlugin
from kubesched.testing import make_pod

ROWS = 6


class Proportional(ScorePlugin):
    name = "Proportional"
    normalizes_by_value = True

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return 100 * scores // max(1, int(scores.max()))


POD = ClusterTables().templates.info(make_pod("p"))
PLUGIN = Proportional()
raws = st.integers(0, 5)
domains = st.sampled_from((None, "a", "b"))
locals_ = st.sampled_from((INFEASIBLE, 0, 100, 200))
some_rows = st.tuples(locals_, raws, domains)


def column_of(scores: list[int]) -> ScoreColumn:
    column = ScoreColumn(PLUGIN, 2, DependsOn.NODE_AND_PODS, ROWS)
    column.open_rows()[:] = scores
    return column


def added_up(local: list[int], classifiers: list[Classifier]) -> list[int]:
    """The totals as they come about without classes."""
    feasible = np.array([row for row, points in enumerate(local) if points != INFEASIBLE])
    totals = np.array(local)
    for classifier in classifiers:
        raw = classifier.raw(classifier.classes()[feasible])
        totals[feasible] += classifier.weight * PLUGIN.normalize_scores(CycleState(POD), POD.template, raw)
    return [int(total) for total in totals]


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(some_rows, min_size=ROWS, max_size=ROWS),
    changes=st.lists(
        st.tuples(st.integers(0, ROWS - 1), some_rows, st.lists(raws, min_size=3, max_size=3)), max_size=8
    ),
)
def test_totals_by_classes_are_those_of_the_rows(
    rows: list[tuple[int, int, str | None]], changes: list[tuple[int, tuple[int, int, str | None], list[int]]]
) -> None:
    """Whatever rows change to, and whatever raw scores the domains have by then."""
    local = [points for points, _, _ in rows]
    scores, zones = column_of([raw for _, raw, _ in rows]), LabelColumn("zone", ROWS, count())
    for known in ("a", "b"):
        zones.set(0, known)
    for row, (_, _, zone) in enumerate(rows):
        zones.set(row, zone)
    classifiers: list[Classifier] = [ByValue(scores), ByDomain(zones, PLUGIN, 3, np.array([1, 2, 0]))]
    totals = ClassBuckets(classifiers, np.array(local))
    for row, (points, raw, zone), by_domain in changes:
        local[row], scores.raw[row] = points, raw
        zones.set(row, zone)
        totals.set(row, points)
        classifiers = [ByValue(scores), ByDomain(zones, PLUGIN, 3, np.array(by_domain))]
        assert totals.serves(classifiers)
        if set(local) != {INFEASIBLE}:
            assert totals.normalize(CycleState(POD), POD)
            expected = added_up(local, classifiers)
            assert totals.by_row.tolist() == expected
            assert expected[totals.best(Random(1))] == max(expected)


@settings(max_examples=80, deadline=None)
@given(
    before=st.lists(st.tuples(locals_, raws), min_size=ROWS, max_size=ROWS),
    after=st.dictionaries(st.integers(0, ROWS - 1), st.tuples(locals_, raws), min_size=1),
)
def test_rows_that_change_at_once_end_where_they_would_one_by_one(
    before: list[tuple[int, int]], after: dict[int, tuple[int, int]]
) -> None:
    """Classes that were never seen before are numbered, rows that do not fit any more have none."""
    rows = before.copy()
    scores = column_of([raw for _, raw in rows])
    totals = ClassBuckets([ByValue(scores)], np.array([points for points, _ in rows]))
    for row, (points, raw) in after.items():
        rows[row] = points, raw
        scores.raw[row] = raw
    totals.set_all(np.array([*after], dtype=np.intp), np.array([points for points, _ in after.values()]))
    local = [points for points, _ in rows]
    if set(local) != {INFEASIBLE}:
        assert totals.normalize(CycleState(POD), POD)
        assert totals.by_row.tolist() == added_up(local, [ByValue(scores)])


def test_rows_of_several_classes_with_the_same_total_are_drawn_alike() -> None:
    """Two classes get the same score, so that three rows are the best ones."""
    totals = ClassBuckets([ByValue(column_of([5, 5, 0, 0, 0, 0]))], np.array([0, 0, 200, 0, 0, 0]))
    assert totals.normalize(CycleState(POD), POD)
    random = Random(7)
    drawn = Counter(totals.best(random) for _ in range(3000))
    assert sorted(drawn) == [0, 1, 2]
    assert min(drawn.values()) > 900


def test_other_classifiers_need_other_buckets() -> None:
    """Rows were told apart by something else."""
    totals = ClassBuckets([ByValue(column_of([0] * ROWS))], np.zeros(ROWS, dtype=np.int64))
    assert not totals.serves([ByValue(column_of([0] * ROWS))])
    assert not totals.serves([])


def test_too_many_classes_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then every row might as well be looked at."""
    monkeypatch.setattr(module, "_MOST_BUCKETS", 3)
    totals = ClassBuckets([ByValue(column_of([0, 1, 2, 2, 2, 2]))], np.zeros(ROWS, dtype=np.int64))
    assert totals.normalize(CycleState(POD), POD)
    totals.set(0, 100)
    totals.set(3, 100)
    assert not totals.normalize(CycleState(POD), POD)
