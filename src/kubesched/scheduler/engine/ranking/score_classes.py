"""Totals in which normalised scores count, kept: rows are in buckets by class, whose score is worked out per cycle."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

import numpy as np

from kubesched.scheduler.columns import Integers, LabelColumn, PodInfo, Positions
from kubesched.scheduler.engine.answers.score_column import ScoreColumn
from kubesched.scheduler.engine.plugin_calls import normalized
from kubesched.scheduler.engine.ranking.buckets import INFEASIBLE, Buckets
from kubesched.scheduler.framework import CycleState, ScorePlugin

_MOST_CLASSES: Final = 1 << 10
_MOST_REMEMBERED: Final = 1 << 6
_MOST_BUCKETS: Final = 1 << 9
"""Beyond this, it is faster to add up the totals of all rows."""


class ByValue(NamedTuple):
    """Rows with the same raw score are of one class."""

    source: ScoreColumn

    @property
    def plugin(self) -> ScorePlugin:
        return self.source.plugin

    @property
    def weight(self) -> int:
        return self.source.weight

    def classes(self) -> Integers:
        return self.source.raw

    def raw(self, classes: Integers) -> Integers:
        return classes


class ByDomain(NamedTuple):
    """Rows in the same domain are of one class; what raw score a domain has is asked in every cycle."""

    source: LabelColumn
    plugin: ScorePlugin
    weight: int
    scores: Integers

    def classes(self) -> Integers:
        return self.source.domains

    def raw(self, classes: Integers) -> Integers:
        return self.scores[classes]


Classifier = ByValue | ByDomain
"""What one plugin that normalises by value (`ScorePlugin.normalizes_by_value`) tells rows apart by."""


class ClassBuckets:
    """A row's total is what depends on that row alone (its local score), and the score of its class.

    By these two it is put into a bucket. So a row that changes moves to another bucket, and whatever becomes of the
    score of a class, no row has to be touched.
    """

    __slots__ = ("_buckets", "_class_of", "_classes", "_classifiers", "_has_domains", "_remembered", "_scores")

    def __init__(self, classifiers: Sequence[Classifier], local: Integers) -> None:
        """`local` is the local score of each row, or INFEASIBLE."""
        self._classifiers = classifiers
        self._has_domains = any(isinstance(classifier, ByDomain) for classifier in classifiers)
        rows = np.flatnonzero(local != INFEASIBLE)
        numbers = np.zeros(len(rows), dtype=np.int64)
        for classifier in classifiers:
            values, positions = np.unique(classifier.classes()[rows], return_inverse=True)
            numbers = numbers * len(values) + positions
        _, examples, numbers = np.unique(numbers, return_index=True, return_inverse=True)
        self._classes = [self._class_at(row) for row in rows[examples].tolist()]
        self._class_of = {values: number for number, values in enumerate(self._classes)}
        buckets = np.full(len(local), INFEASIBLE, dtype=np.int64)
        buckets[rows] = local[rows] * _MOST_CLASSES + numbers
        self._buckets = Buckets(buckets)
        self._scores: list[int] = []  # by class, as far as there are feasible rows of it
        self._remembered: dict[frozenset[int], list[int]] = {}  # earlier scores, by the classes that there were

    def serves(self, classifiers: Sequence[Classifier]) -> bool:
        """Whether these tell rows apart by the same; then they are the classifiers from now on."""
        if [classifier.source for classifier in classifiers] != [classifier.source for classifier in self._classifiers]:
            return False
        self._classifiers = classifiers
        return True

    def set(self, row: int, local: int) -> None:
        """A row's class or local score may have changed."""
        bucket = local if local == INFEASIBLE else local * _MOST_CLASSES + self._number_of(self._class_at(row))
        self._buckets.set(row, bucket)

    def set_all(self, rows: Positions, local: Integers) -> None:
        """As `set`, for many rows at once."""
        feasible = local != INFEASIBLE
        seen = zip(*[classifier.classes()[rows[feasible]].tolist() for classifier in self._classifiers], strict=True)
        buckets = local.copy()
        buckets[feasible] = local[feasible] * _MOST_CLASSES + [self._number_of(values) for values in seen]
        self._buckets.set_all(rows, buckets)

    def _number_of(self, values: tuple[int, ...]) -> int:
        number = self._class_of.get(values)
        if number is None:
            number = self._class_of[values] = len(self._classes)
            self._classes.append(values)
        return number

    def normalize(self, state: CycleState, pod: PodInfo) -> bool:
        """Normalise the scores of the classes that there are. False if they are too many: all of this is void then."""
        sizes = self._buckets.sizes
        if len(self._classes) > _MOST_CLASSES or len(sizes) > _MOST_BUCKETS:
            return False
        present = frozenset([bucket % _MOST_CLASSES for bucket in sizes if bucket != INFEASIBLE])
        scores = None if self._has_domains else self._remembered.get(present)
        self._scores = self._normalized(present, state, pod) if scores is None else scores
        return True

    def _normalized(self, present: frozenset[int], state: CycleState, pod: PodInfo) -> list[int]:
        """The weighted scores of the classes that there are, by the number of the class."""
        classes = [self._classes[number] for number in present]
        totals = np.zeros(len(classes), dtype=np.int64)
        for classifier, values in zip(self._classifiers, zip(*classes, strict=True), strict=True):
            raw = classifier.raw(np.array(values, dtype=np.int64))
            totals += classifier.weight * normalized(classifier.plugin, state, pod, raw)
        scores = [0] * len(self._classes)
        for number, total in zip(present, totals.tolist(), strict=True):
            scores[number] = total
        if not self._has_domains:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[present] = scores
        return scores

    def best(self, random: Random) -> int:
        """A row with the highest total, each with the same probability; only after `normalize`."""
        highest, best = INFEASIBLE, list[int]()
        for bucket in self._buckets.sizes:
            if bucket != INFEASIBLE:
                total = bucket // _MOST_CLASSES + self._scores[bucket % _MOST_CLASSES]
                if total > highest:
                    highest, best = total, [bucket]
                elif total == highest:
                    best.append(bucket)
        numbers = [self._buckets.sizes[bucket] for bucket in best]
        chosen = best[0] if len(best) == 1 else random.choices(best, numbers)[0]
        return self._buckets.draw(chosen, random)

    @property
    def by_row(self) -> Integers:
        """The totals of all rows."""
        buckets = self._buckets.by_row
        scores = np.array(self._scores, dtype=np.int64)
        totals = buckets // _MOST_CLASSES
        feasible = np.flatnonzero(buckets != INFEASIBLE)
        totals[feasible] += scores[buckets[feasible] % _MOST_CLASSES]
        return totals

    def _class_at(self, row: int) -> tuple[int, ...]:
        return tuple([classifier.classes().item(row) for classifier in self._classifiers])
