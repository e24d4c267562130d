"""Why a pod does not fit: the answer for every node, and the message that users know from `kubectl describe`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework.status import Code, Status


class NodeStatuses(Mapping[str, Status]):
    """Node name to the status that rejected it. Nodes not looked at share `absent`.

    Abstract over how it is stored: the engine's version reads it out of arrays only when somebody asks.
    """

    absent: Status = Status(Code.UNRESOLVABLE)

    def histogram(self) -> Counter[str]:
        """How often each reason was given, over the nodes that were looked at."""
        return Counter(reason for status in self.values() for reason in status.reasons)

    def rows_open_to_preemption(self, cluster: ClusterTables) -> npt.NDArray[np.intp]:
        """Rows of the nodes whose status is Unschedulable: removing pods there may help."""
        rows = [
            row
            for row, node in cluster.nodes.existing()
            if self.get(node.metadata.name, self.absent).code is Code.UNSCHEDULABLE
        ]
        return np.array(rows, dtype=np.intp)


class ListedStatuses(NodeStatuses):
    """Statuses in a plain dictionary."""

    def __init__(self, statuses: Mapping[str, Status] | None = None, absent: Status | None = None) -> None:
        self._statuses = dict(statuses or {})
        if absent is not None:
            self.absent = absent

    def __getitem__(self, name: str) -> Status:
        return self._statuses[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._statuses)

    def __len__(self) -> int:
        return len(self._statuses)


@dataclass(slots=True, eq=False)
class Diagnosis:
    """The result of a filtering that left no node."""

    statuses: NodeStatuses = field(default_factory=ListedStatuses)
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    pre_filter_message: str = ""
    post_filter_message: str = ""
    node_count: int = 0

    def add(self, status: Status) -> None:
        """Remember whose rejection it was."""
        if not status.plugin:
            return
        if status.is_rejection:
            self.unschedulable_plugins.add(status.plugin)
        if status.code is Code.PENDING:
            self.pending_plugins.add(status.plugin)

    def message(self) -> str:
        """`0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods. preemption: …`, as FitError.Error()."""
        if self.pre_filter_message:
            text = f"{none_available(self.node_count)} {self.pre_filter_message}."
        else:
            counts = self.statuses.histogram()
            if (unseen := self.node_count - len(self.statuses)) > 0:
                for reason in self.statuses.absent.reasons:
                    counts[reason] += unseen
            text = none_available(self.node_count, counts)
        if self.post_filter_message:
            text += f" {self.post_filter_message}"
        return text


def none_available(node_count: int, reasons: Mapping[str, int] | None = None) -> str:
    """`0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.`"""
    text = f"0/{node_count} nodes are available:"
    counted = sorted(f"{count} {reason}" for reason, count in (reasons or {}).items())
    return f"{text} {', '.join(counted)}." if counted else text
