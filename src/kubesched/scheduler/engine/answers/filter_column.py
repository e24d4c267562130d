"""One filter plugin's kept answers for all rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kubesched.scheduler.columns import Booleans, Integers, Positions, Rows
from kubesched.scheduler.engine.answers.uniform import uniform, writable
from kubesched.scheduler.framework import DependsOn, FilterPlugin, Reason, Status, Verdict
from kubesched.scheduler.framework.verdict import MOST_REASONS


class FilterColumn:
    """`bits[row]` is 0 if the row fits; else it says which of `reasons` hold. Over the whole capacity of the table."""

    __slots__ = ("bits", "depends_on", "may_reject", "plugin", "reasons")

    def __init__(self, plugin: FilterPlugin, depends_on: DependsOn, capacity: int) -> None:
        self.plugin = plugin
        self.depends_on = depends_on
        self.bits: Integers = uniform(0, capacity)
        self.reasons: tuple[Reason, ...] = ()
        self.may_reject = False
        """False: all rows fit."""

    def fits(self, rows: Rows) -> Booleans:
        fitting: Booleans = self.bits[rows] == 0
        return fitting

    def open_rows(self) -> Integers:
        """`bits`, to be written to row by row."""
        self.bits, self.may_reject = writable(self.bits), True
        return self.bits

    def replace(self, verdict: Verdict) -> Positions | None:
        """Take over answers for all rows; returns those that differ.

        None if the reasons are different ones: then nothing was taken over, and `merge` must.
        """
        if verdict.reasons != self.reasons or verdict.special:
            return None
        changed = np.flatnonzero(self.bits[: len(verdict.bits)] != verdict.bits)
        if len(changed):
            self._write(changed, verdict.bits[changed])
        return changed

    def merge(self, rows: Rows, verdict: Verdict) -> bool:
        """Take over answers for some rows. False if there are too many different reasons to keep them together."""
        if isinstance(rows, slice):
            self.reasons = verdict.reasons
        if verdict.reasons == self.reasons and not verdict.special:
            self._write(rows, verdict.bits)
            return True
        known = {reason: position for position, reason in enumerate(self.reasons)}
        for reason in (*verdict.reasons, *_special_reasons(verdict)):
            known.setdefault(reason, len(known))
        if len(known) > MOST_REASONS:
            return False
        translated = np.zeros(len(verdict.bits), dtype=np.int64)
        for position, reason in enumerate(verdict.reasons):
            translated |= ((verdict.bits >> position) & 1) << known[reason]
        for node, status in verdict.special.items():
            for reason in _reasons_of(status):
                translated[node] |= 1 << known[reason]
        self._write(rows, translated)
        self.reasons = tuple(known)
        return True

    def _write(self, rows: Rows, bits: Integers) -> None:
        if self.may_reject or np.count_nonzero(bits):
            self.bits = writable(self.bits)
            self.bits[rows] = bits
            self.may_reject = True


def _special_reasons(verdict: Verdict) -> Iterator[Reason]:
    for status in verdict.special.values():
        yield from _reasons_of(status)


def _reasons_of(status: Status) -> list[Reason]:
    """A status without a word is a rejection all the same."""
    return [Reason(message, status.code) for message in status.reasons or ("",)]
