"""What is in a trace, in one pass and bounded memory: counts, and how the cluster filled over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from kubesched.errors import TraceError
from kubesched.objects import KIND_OF, Node, Pod
from kubesched.objects.pod_resources import in_units, scheduled_usage
from kubesched.objects.resource_names import PODS
from kubesched.traces.entries import Change, ChangeType, Decision, Entry, Gap
from kubesched.traces.preemptions import Preemption, PreemptionsSeen
from kubesched.traces.state import State
from kubesched.traces.trace import Trace

COLUMNS: Final = 60
FIRST_WIDTH: Final = 1.0
MOST_GAPS: Final = 1000
"""That are listed; all are counted."""


@dataclass(slots=True)
class Column:
    """A stretch of time: what happened in it, and how it was at its end."""

    arrivals: int = 0
    running: int = 0
    pending: int = 0
    requested: dict[str, int] = field(default_factory=dict)
    allocatable: dict[str, int] = field(default_factory=dict)

    def share(self, resource: str) -> float:
        """Requested by running pods, of what nodes have."""
        there = self.allocatable.get(resource, 0)
        return self.requested.get(resource, 0) / there if there else 0.0


@dataclass(slots=True)
class Summary:
    started: float
    ended: float
    entries: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    """By kind."""
    decisions: Counter[str] = field(default_factory=Counter)
    at_start: Counter[str] = field(default_factory=Counter)
    at_end: Counter[str] = field(default_factory=Counter)
    preemptions: list[Preemption] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    gap_count: int = 0
    column_seconds: float = FIRST_WIDTH
    columns: list[Column] = field(default_factory=list)
    error: str = ""
    """Why the trace could be read only up to here."""

    def resources(self) -> list[str]:
        """Those that any running pod asked for, cpu and memory first."""
        asked = {name for column in self.columns for name, amount in column.requested.items() if amount}
        first = [name for name in ("cpu", "memory") if name in asked]
        return first + sorted(asked - {*first, PODS})


def summarise(trace: Trace) -> Summary:
    """Of the whole trace; one that is broken is summed up as far as it can be read, and `error` says why."""
    counting = _Counting(trace)
    try:
        for entry in trace:
            counting.take(entry)
    except TraceError as error:
        counting.summary.error = str(error)
    if trace.ended is not None:
        counting.watched_until(trace.ended)
    return counting.finished()


class _Counting:
    """Columns get twice as wide whenever there would be too many: the end is not known before."""

    def __init__(self, trace: Trace) -> None:
        self.summary = Summary(trace.header.started, trace.header.started)
        self._state = State()
        self._column = Column()
        self._preemptions = PreemptionsSeen()

    def take(self, entry: Entry) -> None:
        summary = self.summary
        self._advance(entry.time)
        if summary.entries and summary.ended == summary.started < entry.time:
            summary.at_start = self._counts()
        summary.entries += 1
        summary.ended = entry.time
        self._preemptions.take(entry)
        if isinstance(entry, Decision):
            summary.decisions[entry.type.value] += 1
        elif isinstance(entry, Gap):
            summary.gap_count += 1
            if len(summary.gaps) < MOST_GAPS:
                summary.gaps.append(entry)
        else:
            self._change(entry)

    def watched_until(self, time: float) -> None:
        summary = self.summary
        if time > summary.ended:
            self._advance(time)
            if summary.ended == summary.started:
                summary.at_start = self._counts()
            summary.ended = time

    def finished(self) -> Summary:
        summary = self.summary
        summary.at_end = self._counts()
        summary.preemptions = self._preemptions.found()
        if summary.ended == summary.started:
            summary.at_start = summary.at_end
        summary.columns.append(self._column)
        return summary

    def _change(self, change: Change) -> None:
        obj, summary = change.object, self.summary
        if change.time > summary.started:
            summary.changes[KIND_OF[type(obj)].name] += 1
        old = self._state.apply(change)
        new = self._state.get(type(obj), obj.metadata.key)
        column = self._column
        if isinstance(obj, Pod):
            if change.type is ChangeType.ADDED and change.time > summary.started:
                column.arrivals += 1
            self._count_pod(old, -1)
            self._count_pod(new, +1)
        elif isinstance(obj, Node):
            for node, sign in ((old, -1), (new, +1)):
                if node is not None:
                    _add(column.allocatable, in_units(node.status.allocatable), sign)

    def _count_pod(self, pod: Any, sign: int) -> None:
        if pod is None:
            return
        if pod.spec.node_name:
            self._column.running += sign
            _add(self._column.requested, scheduled_usage(pod).requests, sign)
        else:
            self._column.pending += sign

    def _advance(self, time: float) -> None:
        """Finish the columns before this time."""
        summary = self.summary
        while time - summary.started >= 2 * COLUMNS * summary.column_seconds:
            self._widen()
        place = int((time - summary.started) / summary.column_seconds)
        while len(summary.columns) < place:
            summary.columns.append(self._column)
            last = self._column
            self._column = Column(0, last.running, last.pending, dict(last.requested), dict(last.allocatable))

    def _widen(self) -> None:
        columns = self.summary.columns
        if len(columns) % 2:  # the one that is being filled belongs to the last of these
            self._column.arrivals += columns.pop().arrivals
        for first, second in zip(columns[::2], columns[1::2], strict=True):
            second.arrivals += first.arrivals
        del columns[::2]
        self.summary.column_seconds *= 2

    def _counts(self) -> Counter[str]:
        return Counter({kind.name: count for struct, kind in KIND_OF.items() if (count := self._state.count(struct))})


def _add(total: dict[str, int], amounts: dict[str, int], sign: int) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + sign * amount


def as_data(summary: Summary, trace: Trace) -> dict[str, Any]:
    """For `-o json`."""
    header = trace.header
    return {
        "file": trace.name,
        "source": header.source,
        "kubesched": header.kubesched,
        "kubernetes": header.kubernetes,
        "anonymised": header.anonymised,
        "hasConfiguration": header.configuration is not None,
        "started": summary.started,
        "ended": summary.ended,
        "entries": summary.entries,
        "atStart": dict(summary.at_start),
        "atEnd": dict(summary.at_end),
        "changes": dict(summary.changes),
        "decisions": dict(summary.decisions),
        "preemptions": msgspec.to_builtins(summary.preemptions),
        "gaps": [
            {"kind": gap.kind, "since": gap.since, "until": gap.time, "complete": gap.complete} for gap in summary.gaps
        ],
        "columnSeconds": summary.column_seconds,
        "columns": [_column_data(column, summary.resources()) for column in summary.columns],
        "notes": [*trace.notes, *([summary.error] if summary.error else [])],
    }


def _column_data(column: Column, resources: Iterable[str]) -> dict[str, Any]:
    return {
        "arrivals": column.arrivals,
        "running": column.running,
        "pending": column.pending,
        "utilisation": {name: round(column.share(name), 4) for name in resources},
    }
