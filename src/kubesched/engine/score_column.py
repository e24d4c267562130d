"""One score plugin's kept raw scores for all rows."""

from __future__ import annotations

import numpy as np

from kubesched.columns import Booleans, Integers, NodeView, Rows
from kubesched.engine.lineup import ask_normalize
from kubesched.errors import PluginError
from kubesched.framework import MAX_SCORE, CycleState, PodInfo, Reach, ScorePlugin


class ScoreColumn:
    """`raw[row]` over the whole capacity of the table; `constant` is set while all rows have the same score.

    Once the plugin's basis has changed, the column is stale until the plugin was asked about all rows again.
    """

    __slots__ = (
        "_constant_points",
        "_is_shared",
        "constant",
        "is_stale",
        "normalizes",
        "plugin",
        "raw",
        "reach",
        "weight",
    )

    def __init__(self, plugin: ScorePlugin, weight: int, reach: Reach, capacity: int) -> None:
        self.plugin = plugin
        self.weight = weight
        self.normalizes = plugin.normalizes()
        # A normalised column must notice when it ceases to be constant: it is merged, never filled from a memo.
        self.reach = Reach.ROW if reach is Reach.SUMS and self.normalizes else reach
        self.raw: Integers = np.zeros(capacity, dtype=np.int64)
        self.constant: int | None = None
        self._constant_points: int | None = None
        self.is_stale = False
        self._is_shared = False

    def copy(self) -> ScoreColumn:
        """Scores that placed pods do not change are shared, until one of the two columns is written to."""
        copy = ScoreColumn(self.plugin, self.weight, self.reach, 0)
        copy.constant, copy._constant_points = self.constant, self._constant_points
        self._is_shared = copy._is_shared = self.reach is Reach.NODE
        copy.raw = self.raw if self._is_shared else self.raw.copy()
        return copy

    def _write(self, rows: Rows, scores: Integers) -> None:
        if self._is_shared:
            self.raw, self._is_shared = self.raw.copy(), False
        self.raw[rows] = scores

    @property
    def is_local(self) -> bool:
        """Whether a row's final score depends on that row alone: it is not normalised, or normalised to a constant."""
        return not self.normalizes or self.constant is not None

    def fill(self, scores: Integers) -> None:
        """The scores of all rows."""
        self._write(slice(0, len(scores)), scores)
        first = int(scores[0]) if len(scores) else 0
        self.constant = first if (scores == first).all() else None
        self._constant_points = None

    def renew(self, scores: Integers) -> bool:
        """Fresh scores of all rows; whether they are others than before."""
        self.is_stale = False
        if np.array_equal(self.raw[: len(scores)], scores):
            return False
        self.fill(scores)
        return True

    def merge(self, nodes: NodeView, scores: Integers) -> None:
        """The scores of some rows."""
        self._write(nodes.rows, scores)
        if self.constant is not None and not (scores == self.constant).all():
            self.constant = None

    def weighted(self, fits: Booleans) -> Integers:
        """Weighted scores of all rows, for a plugin that does not normalise; those of feasible rows are checked."""
        if self.raw.view(np.uint64).max(initial=0) > MAX_SCORE:
            _check(self.plugin, self.raw[fits])
        return self.raw * self.weight

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
    if len(scores) and scores.astype(np.int64, copy=False).view(np.uint64).max() > MAX_SCORE:
        lowest, highest = int(scores.min()), int(scores.max())
        wrong = lowest if lowest < 0 else highest
        problem = f"returns an invalid score {wrong}, it should be in the range of [0, {MAX_SCORE}] after normalizing"
        raise PluginError(plugin.name, "Score", problem)
