"""Which claims are used by placed pods."""

from __future__ import annotations

from collections import defaultdict

from kubesched.scheduler.columns import EVERYTHING, ClusterTables, Follower

Claim = tuple[str, str]
"""(namespace, name)"""


class ClaimsInUse:
    """Claims named by the volumes of placed pods, assumed pods included. Looks only at nodes whose pods changed."""

    def __init__(self, cluster: ClusterTables) -> None:
        self._cluster = cluster
        self._changes = Follower(cluster.nodes.pod_changes)
        self._on_row: dict[int, frozenset[Claim]] = {}
        self._rows_of: defaultdict[Claim, set[int]] = defaultdict(set)

    def contains(self, claim: Claim) -> bool:
        """Whether a pod on an existing node uses the claim."""
        self._refresh()
        exists = self._cluster.nodes.exists
        return any(exists[row] for row in self._rows_of.get(claim, ()))

    def _refresh(self) -> None:
        changed = self._changes.changed()
        for row in set(range(len(self._cluster.nodes)) if changed is EVERYTHING else changed):
            self._read(row)

    def _read(self, row: int) -> None:
        templates = (info.template for info in self._cluster.pods.on_node(row))
        now = frozenset((template.namespace, name) for template in templates for name in template.claim_names)
        before = self._on_row.get(row, frozenset())
        if now == before:
            return
        for claim in before - now:
            rows = self._rows_of[claim]
            rows.discard(row)
            if not rows:
                del self._rows_of[claim]
        for claim in now - before:
            self._rows_of[claim].add(row)
        if now:
            self._on_row[row] = now
        else:
            del self._on_row[row]
