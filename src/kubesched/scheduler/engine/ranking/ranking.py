"""How good the feasible nodes are."""

from __future__ import annotations

from random import Random

import msgspec
import numpy as np

from kubesched.scheduler.columns import ClusterTables, Integers, Positions
from kubesched.scheduler.engine.ranking.buckets import best_of
from kubesched.scheduler.engine.ranking.totals import Ranked


class Ranking(msgspec.Struct, eq=False, gc=False):
    """The feasible nodes by total score: the kept totals of all rows, or those of some rows in this cycle."""

    _cluster: ClusterTables
    _random: Random
    _ranked: Ranked

    def best(self) -> str:
        """The name of one of the best nodes, each with the same probability."""
        if isinstance(self._ranked, tuple):
            rows, totals = self._ranked
            row = int(rows[best_of(totals, self._random)])
        else:
            row = self._ranked.best(self._random)
        return self._cluster.nodes.names[row]

    def best_rows(self) -> Positions:
        """The rows of all best nodes: for whoever settles ties another way than by chance."""
        rows, totals = self.totals()
        best: Positions = rows[totals == totals.max()]
        return best

    def first_best(self) -> str:
        """The name of the best node in the first row: always the same, and cheap."""
        if isinstance(self._ranked, tuple):
            rows, totals = self._ranked
            row = int(rows[totals.argmax()])
        else:
            row = int(self._ranked.by_row.argmax())
        return self._cluster.nodes.names[row]

    def by_name(self) -> dict[str, int]:
        """The totals by node name, for whoever must wait before the choice: rows may have changed by then."""
        rows, totals = self.totals()
        names = self._cluster.nodes.names
        return {names[row]: total for row, total in zip(rows.tolist(), totals.tolist(), strict=True)}

    def totals(self) -> tuple[Positions, Integers]:
        """The feasible rows and their totals."""
        if isinstance(self._ranked, tuple):
            return self._ranked
        by_row = self._ranked.by_row
        rows = np.flatnonzero(by_row >= 0)
        return rows, by_row[rows]
