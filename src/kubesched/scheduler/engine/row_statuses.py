"""Why nodes do not take a pod, read out of arrays when somebody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from kubesched.scheduler.columns import ClusterTables, Positions
from kubesched.scheduler.engine.scratch import Rejection
from kubesched.scheduler.framework import Code, NodeStatuses, Status


class RowStatuses(NodeStatuses):
    """Each row has the status of the first plugin that rejected it, unless `overrides` has another for it.

    `rejections` name no row twice. `absent` is the status of nodes that are in neither.
    """

    def __init__(
        self,
        cluster: ClusterTables,
        rejections: list[Rejection],
        overrides: dict[int, Status],
        is_everywhere: bool,
    ) -> None:
        self._cluster = cluster
        self._rejections = rejections
        self._overrides = overrides
        self._is_everywhere = is_everywhere

    def override(self, row: int, status: Status) -> None:
        self._overrides[row] = status

    def plugins(self) -> set[str]:
        return {said.plugin for said in self._rejections} | {s.plugin for s in self._overrides.values() if s.plugin}

    def pending_plugins(self) -> set[str]:
        """The plugins that wait for something outside."""
        pending = {status.plugin for status in self._overrides.values() if status.code is Code.PENDING}
        return pending | {said.plugin for said in self._rejections if said.verdict.is_pending()}

    def histogram(self) -> Counter[str]:
        counts = Counter(reason for status in self._overrides.values() for reason in status.reasons)
        for said in self._rejections:
            counts += said.verdict.histogram()
        return counts

    def rows_open_to_preemption(self, cluster: ClusterTables) -> Positions:
        """Rows whose status is Unschedulable: removing pods there may help."""
        if self._is_everywhere and not self._rejections and not self._overrides:
            everywhere = self.absent.code is Code.UNSCHEDULABLE
            return np.flatnonzero(self._cluster.nodes.exists) if everywhere else np.empty(0, dtype=np.intp)
        rows = [said.rows[~said.verdict.unresolvable()] for said in self._rejections]
        rows.append(np.array([r for r, s in self._overrides.items() if s.code is Code.UNSCHEDULABLE], dtype=np.intp))
        return np.sort(np.concatenate(rows))

    def __getitem__(self, name: str) -> Status:
        row = self._cluster.nodes.row_of[name]
        if row in self._overrides:
            return self._overrides[row]
        for said in self._rejections:
            position = np.flatnonzero(said.rows == row)
            if len(position):
                return said.verdict.status(int(position[0]), said.plugin)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        names = self._cluster.nodes.names
        for row in self._overrides:
            yield names[row]
        for said in self._rejections:
            for row in said.rows.tolist():
                yield names[row]

    def __len__(self) -> int:
        return len(self._overrides) + sum(len(said.rows) for said in self._rejections)
