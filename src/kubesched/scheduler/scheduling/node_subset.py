"""A part of the cluster that a pod must stay in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kubesched.scheduler.columns import Follower, NodeView


class NodeSubset:
    """The nodes of a view, wherever in the table they are: rows change owners while extenders are asked."""

    def __init__(self, nodes: NodeView) -> None:
        self._table = nodes.table
        self._rows = nodes.row_ids()
        self._names = [self._table.names[row] for row in self._rows.tolist()]
        self._changes = Follower(self._table.node_changes)
        self._changes.skip()

    def rows(self) -> npt.NDArray[np.intp]:
        """The rows of those that are still there."""
        table = self._table
        if self._changes.changed():
            found = (row for name in self._names if (row := table.row_of.get(name)) is not None and table.exists[row])
            self._rows = np.array(sorted(found), dtype=np.intp)
        return self._rows
