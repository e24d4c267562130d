"""One score plugin's kept raw scores for all rows."""

from __future__ import annotations

import numpy as np

from kubesched.scheduler.columns import Integers, Rows
from kubesched.scheduler.engine.answers.uniform import uniform, writable
from kubesched.scheduler.engine.plugin_calls import are_valid, check_scores, normalized
from kubesched.scheduler.framework import CycleState, DependsOn, PodInfo, ScorePlugin


class ScoreColumn:
    """`raw[row]` over the whole capacity of the table; `constant` is set while all rows have the same score."""

    __slots__ = (
        "_weighted_constant",
        "constant",
        "depends_on",
        "may_be_invalid",
        "normalizes",
        "plugin",
        "raw",
        "weight",
    )

    def __init__(self, plugin: ScorePlugin, weight: int, depends_on: DependsOn, capacity: int) -> None:
        self.plugin = plugin
        self.weight = weight
        self.normalizes = plugin.normalizes()
        self.depends_on = depends_on
        self.raw: Integers = uniform(0, capacity)
        self.constant: int | None = 0
        self.may_be_invalid = False
        """Some row has had a score outside 0..100 that nobody normalises: `check` the feasible ones."""
        self._weighted_constant: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether a row's final score depends on that row alone: it is not normalised, or normalised to a constant."""
        return not self.normalizes or self.constant is not None

    def replace(self, scores: Integers) -> bool:
        """Take over the scores of all rows; whether any differs from before."""
        first = int(scores[0]) if len(scores) else 0
        if not np.count_nonzero(scores != first):
            if first == self.constant:
                return False
            self.constant, self.raw = first, uniform(first, len(self.raw))
        elif self.constant is None and not np.count_nonzero(self.raw[: len(scores)] != scores):
            return False
        else:
            if not self.raw.flags.writeable:
                self.raw = np.zeros(len(self.raw), dtype=np.int64)
            self.constant = None
            self.raw[: len(scores)] = scores
        self._weighted_constant = None
        self._look_for_invalid(scores)
        return True

    def merge(self, rows: Rows, scores: Integers) -> None:
        """Take over the scores of some rows."""
        if self.constant is None or np.count_nonzero(scores != self.constant):
            self.constant, self.raw = None, writable(self.raw)
            self.raw[rows] = scores
            self._look_for_invalid(scores)

    def open_rows(self) -> Integers:
        """`raw`, to be written to row by row."""
        self.constant, self.raw = None, writable(self.raw)
        return self.raw

    def weighted(self, rows: Rows) -> Integers:
        """Weighted scores of rows, for a plugin that does not normalise. Don't write to them."""
        return self.raw[rows] if self.weight == 1 else self.raw[rows] * self.weight

    def weighted_constant(self, state: CycleState, pod: PodInfo) -> int:
        """The weighted score of every row, where all are the same."""
        if self._weighted_constant is None:
            self._weighted_constant = self.weight * int(normalized(self.plugin, state, pod, self.raw[:1])[0])
        return self._weighted_constant

    def check(self, rows: Rows) -> None:
        """Raise a PluginError if one of these rows has an invalid score."""
        if self.may_be_invalid:
            check_scores(self.plugin, self.raw[rows])

    def _look_for_invalid(self, scores: Integers) -> None:
        if not self.normalizes and not self.may_be_invalid:
            self.may_be_invalid = not are_valid(scores)
