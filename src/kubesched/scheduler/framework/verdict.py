"""A filter's answer for many nodes at once: a bit set of reasons per node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from kubesched.scheduler.columns import Booleans, Integers, NodeView
from kubesched.scheduler.framework.status import Code, Status

MOST_REASONS: Final = 62
_SPECIAL: Final = 1 << MOST_REASONS


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a node does not take a pod, and whether preempting pods there could change that."""

    message: str
    code: Code = Code.UNSCHEDULABLE

    @classmethod
    def unschedulable(cls, message: str) -> Reason:
        return cls(message, Code.UNSCHEDULABLE)

    @classmethod
    def unresolvable(cls, message: str) -> Reason:
        return cls(message, Code.UNRESOLVABLE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`bits[i]` is 0 if node i of the view fits; else each set bit k says that `reasons[k]` holds there.

    `special` carries statuses that no shared reason can express (a per-node plugin's own words), by position.
    """

    bits: Integers
    reasons: tuple[Reason, ...] = ()
    special: Mapping[int, Status] = field(default_factory=dict)

    @classmethod
    def fits(cls, nodes: NodeView) -> Verdict:
        return cls(np.zeros(len(nodes), dtype=np.int64))

    @classmethod
    def rejects(cls, nodes: NodeView, *, where: Booleans, reason: Reason) -> Verdict:
        return cls(where.astype(np.int64), (reason,))

    @classmethod
    def all_of(cls, nodes: NodeView, *reasons: tuple[Booleans, Reason]) -> Verdict:
        """Every reason that holds on a node is given (as NodeResourcesFit does)."""
        bits = np.zeros(len(nodes), dtype=np.int64)
        for position, (where, _) in enumerate(reasons):
            bits |= where.astype(np.int64) << position
        return cls(bits, tuple(reason for _, reason in reasons))

    @classmethod
    def first_of(cls, nodes: NodeView, *reasons: tuple[Booleans, Reason]) -> Verdict:
        """Only the first reason that holds on a node is given: checks that stop at the first failure."""
        bits = np.zeros(len(nodes), dtype=np.int64)
        for position, (where, _) in enumerate(reasons):
            bits[where & (bits == 0)] = 1 << position
        return cls(bits, tuple(reason for _, reason in reasons))

    @classmethod
    def of_statuses(cls, nodes: NodeView, statuses: Mapping[int, Status]) -> Verdict:
        """From per-node statuses, by position in the view; positions that are missing fit."""
        bits = np.zeros(len(nodes), dtype=np.int64)
        rejected = {position: status for position, status in statuses.items() if not status.is_success}
        bits[list(rejected)] = _SPECIAL
        return cls(bits, special=rejected)

    @property
    def fitting(self) -> Booleans:
        fitting: Booleans = self.bits == 0
        return fitting

    @property
    def has_failures(self) -> bool:
        """Whether the plugin failed to answer for some node."""
        return bool(self.special) and any(not status.is_rejection for status in self.special.values())

    def unresolvable(self) -> Booleans:
        """Nodes where preemption cannot help."""
        mask = sum(1 << k for k, reason in enumerate(self.reasons) if reason.code is Code.UNRESOLVABLE)
        hopeless: Booleans = (self.bits & mask) != 0
        for position, status in self.special.items():
            hopeless[position] = status.code is Code.UNRESOLVABLE
        return hopeless

    def is_pending(self) -> bool:
        """Whether some node is rejected until something outside happens."""
        if any(status.code is Code.PENDING for status in self.special.values()):
            return True
        return any(reason.code is Code.PENDING for reason in self.reasons) and any(
            status_of(bits, self.reasons, "").code is Code.PENDING for bits, _ in _tally(self.bits)
        )

    def at(self, positions: npt.NDArray[np.intp]) -> Verdict:
        """The answers for some of the nodes."""
        special = {}
        if self.special:
            special = {k: self.special[p] for k, p in enumerate(positions.tolist()) if p in self.special}
        return Verdict(self.bits[positions], self.reasons, special)

    def histogram(self) -> Counter[str]:
        """How often each reason was given."""
        counts = Counter(reason for status in self.special.values() for reason in status.reasons)
        for bits, nodes in _tally(self.bits):
            for reason in status_of(bits, self.reasons, "").reasons:
                counts[reason] += nodes
        return counts

    def status(self, position: int, plugin: str) -> Status:
        """The answer for one node."""
        if position in self.special:
            return self.special[position].by(plugin)
        return status_of(int(self.bits[position]), self.reasons, plugin)


def _tally(bits: Integers) -> list[tuple[int, int]]:
    """Each distinct value with its number of nodes. Often all nodes have the same one: that is seen at a glance."""
    if len(bits) and not np.count_nonzero(bits != bits[0]):
        return [(int(bits[0]), len(bits))]
    values, counts = np.unique(bits, return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))


def status_of(bits: int, reasons: tuple[Reason, ...], plugin: str) -> Status:
    """The status that a row's bits stand for."""
    given = [reason for k, reason in enumerate(reasons) if bits >> k & 1]
    if not given:
        return Status(plugin=plugin)
    codes = {reason.code for reason in given}
    code = next(code for code in (Code.UNRESOLVABLE, Code.UNSCHEDULABLE, Code.PENDING) if code in codes)
    return Status(code, tuple(reason.message for reason in given if reason.message), plugin)
