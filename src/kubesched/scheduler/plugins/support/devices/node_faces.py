"""What slices know nodes by: their names and labels."""

from __future__ import annotations

from collections.abc import Mapping

from kubesched.scheduler.columns import NodeTable


class NodeFaces:
    """Tells of nodes with another face. Most changes of a node are none: its images, taints and resources."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._position = -1
        self._faces: dict[int, tuple[str, Mapping[str, str]]] = {}

    def changed(self) -> set[str]:
        """The names of nodes that came, went, moved to another row or got other labels since the last call."""
        table, journal = self._table, self._table.node_changes
        rows = journal.since(self._position) if self._position >= 0 else None
        self._position = journal.position
        names: set[str] = set()
        for row in range(len(table)) if rows is None else set(rows):
            node, before = table.nodes[row], self._faces.get(row)
            face = (table.names[row], node.metadata.labels if node is not None else {})
            if face != before:
                self._faces[row] = face
                names.add(face[0])
                if before is not None:
                    names.add(before[0])
        return names
