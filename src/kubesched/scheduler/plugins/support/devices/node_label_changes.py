"""Nodes whose names or labels changed: all that slices select nodes by."""

from __future__ import annotations

from collections.abc import Mapping

from kubesched.scheduler.columns import EVERYTHING, Follower, NodeTable


class NodeLabelChanges:
    """Most changes of a node are none of these: its images, taints and resources."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._changes = Follower(table.node_changes)
        self._node_labels: dict[int, tuple[str, Mapping[str, str]]] = {}

    def changed(self) -> set[str]:
        """The names of nodes that came, went, moved to another row or got other labels since the last call."""
        table, rows = self._table, self._changes.changed()
        names: set[str] = set()
        for row in range(len(table)) if rows is EVERYTHING else set(rows):
            node, before = table.nodes[row], self._node_labels.get(row)
            current = (table.names[row], node.metadata.labels if node is not None else {})
            if current != before:
                self._node_labels[row] = current
                names.add(current[0])
                if before is not None:
                    names.add(before[0])
        return names
