"""How good the feasible nodes are."""

from __future__ import annotations

from random import Random

import numpy as np

from kubesched.columns import Cluster, Integers
from kubesched.engine.kept_scores import Scores
from kubesched.engine.selection import BlockMaxima, best_of
from kubesched.engine.tracker import RowArray


class Ranking:
    """The feasible nodes by total score."""

    def __init__(
        self, cluster: Cluster, random: Random, *, maxima: BlockMaxima | None = None, scores: Scores | None = None
    ) -> None:
        self._cluster = cluster
        self._random = random
        self._maxima = maxima
        self._scores = scores

    def best(self) -> str:
        """The name of one of the best nodes, each with the same probability."""
        names = self._cluster.nodes.names
        if self._maxima is not None:
            return names[self._maxima.best(self._random)]
        assert self._scores is not None
        return names[int(self._scores.rows[best_of(self._scores.totals, self._random)])]

    def by_name(self) -> dict[str, int]:
        """The totals by node name, for whoever must wait before the choice: rows may have changed by then."""
        rows, totals = self.totals()
        names = self._cluster.nodes.names
        return {names[row]: total for row, total in zip(rows.tolist(), totals.tolist(), strict=True)}

    def totals(self) -> tuple[RowArray, Integers]:
        """The feasible rows and their totals."""
        if self._maxima is not None:
            rows = np.flatnonzero(self._maxima.totals >= 0)
            return rows, self._maxima.totals[rows]
        assert self._scores is not None
        return self._scores.rows, self._scores.totals
