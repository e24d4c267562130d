"""One score plugin's kept raw scores for all rows."""

from __future__ import annotations

import numpy as np

from kubesched.errors import PluginError
from kubesched.scheduler.columns import Booleans, Integers, NodeView
from kubesched.scheduler.engine.lineup import ask_normalize
from kubesched.scheduler.engine.tracker import RowArray
from kubesched.scheduler.engine.uniform import uniform, writable
from kubesched.scheduler.framework import MAX_SCORE, CycleState, DependsOn, PodInfo, ScorePlugin


class ScoreColumn:
    """`raw[row]` over the whole capacity of the table; `constant` is set while all rows have the same score.

    Once the plugin's external version has changed, the column is stale until the plugin was asked about all rows again.
    """

    __slots__ = ("_constant_points", "constant", "depends_on", "is_stale", "normalizes", "plugin", "raw", "weight")

    def __init__(self, plugin: ScorePlugin, weight: int, depends_on: DependsOn, capacity: int) -> None:
        self.plugin = plugin
        self.weight = weight
        self.normalizes = plugin.normalizes()
        self.depends_on = depends_on
        self.raw: Integers = uniform(0, capacity)
        self.constant: int | None = 0
        self._constant_points: int | None = None
        self.is_stale = False

    @property
    def is_local(self) -> bool:
        """Whether a row's final score depends on that row alone: it is not normalised, or normalised to a constant."""
        return not self.normalizes or self.constant is not None

    def fill(self, scores: Integers) -> bool:
        """The scores of all rows; whether they are others than before."""
        self.is_stale = False
        first = int(scores[0]) if len(scores) else 0
        if not np.count_nonzero(scores != first):
            if first == self.constant:
                return False
            self.constant, self.raw = first, uniform(first, len(self.raw))
        elif self.constant is None and not np.count_nonzero(self.raw[: len(scores)] != scores):
            return False
        else:
            self.constant, self.raw = None, writable(self.raw)
            self.raw[: len(scores)] = scores
        self._constant_points = None
        return True

    def merge(self, nodes: NodeView, scores: Integers) -> None:
        """The scores of some rows."""
        if self.constant is None or np.count_nonzero(scores != self.constant):
            self.constant, self.raw = None, writable(self.raw)
            self.raw[nodes.rows] = scores

    def open_rows(self) -> Integers:
        """`raw`, to be written to row by row."""
        self.constant, self.raw = None, writable(self.raw)
        return self.raw

    def weighted(self, fits: Booleans) -> Integers:
        """Weighted scores of all rows, for a plugin that does not normalise; those of feasible rows are checked.

        Don't write to them.
        """
        if np.count_nonzero(self.raw.view(np.uint64) > MAX_SCORE):
            _check(self.plugin, self.raw[fits])
        return self.raw if self.weight == 1 else self.raw * self.weight

    def weighted_at(self, rows: RowArray, fits: Booleans) -> Integers:
        """As `weighted`, for some rows, of which `fits` says whether they are feasible."""
        raw: Integers = self.raw[rows]
        if np.count_nonzero(raw.view(np.uint64) > MAX_SCORE):
            _check(self.plugin, raw[fits])
        return raw if self.weight == 1 else raw * self.weight

    def points_at(self, row: int, is_checked: bool) -> int:
        """The weighted score of a row, for a plugin that does not normalise."""
        raw = int(self.raw[row])
        if is_checked and not 0 <= raw <= MAX_SCORE:
            _check(self.plugin, self.raw[row : row + 1])
        return self.weight * raw

    def constant_points(self, state: CycleState, pod: PodInfo) -> int:
        """The weighted score of every row, where all are the same."""
        if self._constant_points is None:
            self._constant_points = self.weight * int(normalized(self.plugin, state, pod, self.raw[:1])[0])
        return self._constant_points


def normalized(plugin: ScorePlugin, state: CycleState, pod: PodInfo, raw: Integers) -> Integers:
    """Final scores of feasible nodes, before the weight. A score outside 0..100 is the plugin's mistake."""
    scores = ask_normalize(plugin, state, pod, raw) if plugin.normalizes() else raw
    _check(plugin, scores)
    return scores


def _check(plugin: ScorePlugin, scores: Integers) -> None:
    # Seen as unsigned, a negative number is a very large one.
    unsigned = scores.astype(np.int64, copy=False).view(np.uint64)
    if np.maximum.reduce(unsigned, initial=0) > MAX_SCORE:
        lowest, highest = int(scores.min()), int(scores.max())
        wrong = lowest if lowest < 0 else highest
        problem = f"returns an invalid score {wrong}, it should be in the range of [0, {MAX_SCORE}] after normalizing"
        raise PluginError(plugin.name, "Score", problem)
