"""The nodes with their pods, one object each: for whoever looks at nodes one by one.

The scheduling cycle is atomic, so it reads the live tables; no copy is made for it (docs/design/0001). A snapshot
serves per-node readers (extenders, dumps, library users): it builds a `NodeInfo` on demand and again only if the
node's row has changed since.
"""

from __future__ import annotations

from kubesched.scheduler.columns import EVERYTHING, Follower, either
from kubesched.scheduler.framework import NodeInfo
from kubesched.scheduler.framework.node_info import node_info_at
from kubesched.scheduler.state.cache import Cache


class Snapshot:
    """`refresh` takes over what changed since the last time; the lists are in zone round-robin order."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._infos: dict[int, NodeInfo] = {}  # by row: a name may be gone from the table when its change is read
        self._node_changes = Follower(cache.cluster.nodes.node_changes)
        self._pod_changes = Follower(cache.cluster.nodes.pod_changes)

    def refresh(self) -> None:
        changed = either(self._node_changes.changed(), self._pod_changes.changed())
        if changed is EVERYTHING:
            self._infos.clear()
            return
        for row in changed:
            self._infos.pop(row, None)

    def get(self, name: str) -> NodeInfo | None:
        """A node as of the last refresh, or None if there is no such node."""
        nodes = self._cache.cluster.view()
        row = nodes.position_of(name)
        if row is None:
            return None
        info = self._infos.get(row)
        if info is None or info.name != name:
            info = self._infos[row] = node_info_at(nodes, row)
        return info

    def all(self) -> list[NodeInfo]:
        return [info for name in self._cache.node_tree.order() if (info := self.get(name)) is not None]
