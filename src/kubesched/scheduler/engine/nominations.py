"""The claims of nominated pods in columns: which of them a pod must yield to is one comparison of arrays."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from kubesched.scheduler.columns import (
    ABSENT,
    EVERYTHING,
    Booleans,
    ClusterTables,
    Follower,
    Ids,
    NodeView,
    PodInfo,
    PodTemplate,
    Positions,
    WhatIf,
)
from kubesched.scheduler.columns.interning import Interner
from kubesched.scheduler.columns.types import grown
from kubesched.scheduler.framework import Nomination, Nominator

_FIRST_CAPACITY: Final = 64


class Claimed(NamedTuple):
    """Rows in ascending order, and the pods with claims there as additions to these rows; None if there are none."""

    rows: Positions
    pods: WhatIf | None


class Nominations:
    """What the nominator knows, one entry per claim, without gaps. Keeping it up costs as much as there are changes."""

    def __init__(self, nominator: Nominator, cluster: ClusterTables) -> None:
        self._nominator = nominator
        self._cluster = cluster
        self._changes = Follower(nominator.changes)
        self._node_changes = Follower(cluster.nodes.node_changes)
        self._claims: list[Nomination] = []
        self._entry_of: dict[str, int] = {}  # by the pod's uid
        self._row: Positions = np.zeros(_FIRST_CAPACITY, dtype=np.intp)  # of the node; ABSENT if there is none
        self._priority: Ids = np.zeros(_FIRST_CAPACITY, dtype=np.int32)
        self._template_id: Ids = np.zeros(_FIRST_CAPACITY, dtype=np.int32)
        self._terminating: Booleans = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self._templates = Interner[PodTemplate]()
        self._known: dict[int, Claimed] = {}  # by the priority of the pod that asks

    def everywhere(self, pod: PodInfo) -> Claimed:
        """All that a pod must yield to. Kept until something changes, but for pods that have a claim themselves."""
        self._refresh()
        if pod.uid in self._entry_of:
            return self._claimed(pod)
        known = self._known.get(pod.priority)
        if known is None:
            known = self._known[pod.priority] = self._claimed(pod)
        return known

    def _claimed(self, pod: PodInfo) -> Claimed:
        has_claim = np.zeros(self._cluster.nodes.capacity, dtype=np.bool_)
        has_claim[self._row[self._before(pod)]] = True
        rows = np.flatnonzero(has_claim)
        return Claimed(rows, self.upon(pod, self._cluster.view(rows)))

    def upon(self, pod: PodInfo, nodes: NodeView) -> WhatIf | None:
        """The nominated pods that a pod must yield to, as additions to the rows of a view; None if there are none.

        Those are pods of equal or higher priority (addGENominatedPods).
        """
        self._refresh()
        entries = self._before(pod)
        if not len(entries):
            return None
        positions = nodes.positions_of(self._row[entries])
        entries = entries[positions != ABSENT]
        if not len(entries):
            return None
        claims = self._claims
        return WhatIf.added_in_columns(
            self._templates.values,
            positions=positions[positions != ABSENT],
            template_ids=self._template_id[entries],
            terminating=self._terminating[entries],
            pod=lambda k: claims[entries[k]].pod,
        )

    def _before(self, pod: PodInfo) -> Positions:
        """The entries of the claims that go before a pod's own."""
        count = len(self._claims)
        goes_before = (self._priority[:count] >= pod.priority) & (self._row[:count] != ABSENT)
        if (own := self._entry_of.get(pod.uid)) is not None:
            goes_before[own] = False
        return np.flatnonzero(goes_before)

    def _refresh(self) -> None:
        changed = self._changes.changed()
        claims = self._nominator.nominations
        if changed is EVERYTHING or len(self._templates) > 2 * len(claims) + _FIRST_CAPACITY:
            self._claims, self._entry_of, self._templates = [], {}, Interner()
            changed = list(claims)
        if changed:
            self._known.clear()
        for uid in dict.fromkeys(changed):
            self._remove(uid)
            if (claim := claims.get(uid)) is not None:
                self._add(uid, claim)
        if self._node_changes.changed():  # rows are used again after their nodes are gone
            row_of = self._cluster.nodes.row_of
            self._known.clear()
            self._row[: len(self._claims)] = [row_of.get(claim.node_name, ABSENT) for claim in self._claims]

    def _add(self, uid: str, claim: Nomination) -> None:
        entry = self._entry_of[uid] = len(self._claims)
        if entry == len(self._row):
            self._grow(2 * entry)
        pod = claim.pod
        self._claims.append(claim)
        self._row[entry] = self._cluster.nodes.row_of.get(claim.node_name, ABSENT)
        self._priority[entry] = pod.priority
        self._template_id[entry] = self._templates.id_of(pod.template)
        self._terminating[entry] = pod.pod.is_terminating

    def _remove(self, uid: str) -> None:
        """The last entry takes the place of the removed one."""
        entry = self._entry_of.pop(uid, None)
        if entry is None:
            return
        last = self._claims.pop()
        if entry == len(self._claims):
            return
        self._claims[entry] = last
        self._entry_of[last.pod.uid] = entry
        for column in (self._row, self._priority, self._template_id, self._terminating):
            column[entry] = column[len(self._claims)]

    def _grow(self, capacity: int) -> None:
        self._row = grown(self._row, capacity, ABSENT)
        self._priority = grown(self._priority, capacity, 0)
        self._template_id = grown(self._template_id, capacity, 0)
        self._terminating = grown(self._terminating, capacity, False)
