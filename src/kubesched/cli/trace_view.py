"""A trace on a terminal: a few facts, and small bars over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from kubesched.config.duration import format_duration
from kubesched.traces import Header, Trace
from kubesched.traces.summary import Column, Summary

PLAIN_WIDTH: Final = 160
"""Of output that does not go to a terminal."""
MOST_GAPS_SHOWN: Final = 5
MOST_PREEMPTIONS_SHOWN: Final = 5
MOST_RESOURCES: Final = 6
NOTE_WIDTH: Final = 38
"""Of what stands beside a curve."""
LEAST_BARS: Final = 20
_BARS: Final = " ▁▂▃▄▅▆▇█"


def picture(summary: Summary, trace: Trace, width: int = PLAIN_WIDTH) -> RenderableType:
    """Fits into so many columns of a terminal."""
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="bold")
    facts.add_column()
    for name, value in _facts(summary, trace):
        facts.add_row(name, escape(value))
    if summary.ended == summary.started:
        return facts
    return Group(facts, "", _curves(summary, width))


def _facts(summary: Summary, trace: Trace) -> list[tuple[str, str]]:
    header = trace.header
    length = summary.ended - summary.started
    facts = [("trace", f"{trace.name or 'in memory'} ({_origin(header)})")]
    if length:
        facts.append(("time", f"{moment(summary.started)} to {moment(summary.ended)} ({_duration(length)})"))
    else:
        facts.append(("time", f"one moment, {moment(summary.started)}" if summary.started else "one moment"))
    facts.append(("at the start", _counts(summary.at_start) or "nothing"))
    if length:
        facts.append(("at the end", _counts(summary.at_end) or "nothing"))
        facts.append(("changes", _counts(summary.changes) or "none"))
        facts.append(("decisions", _counts(Counter({k.lower(): v for k, v in summary.decisions.items()})) or "none"))
    for number, preemption in enumerate(summary.preemptions[:MOST_PREEMPTIONS_SHOWN]):
        by = f"{preemption.by} (priority {preemption.by_priority})" if preemption.by else "somebody"
        facts.append(("" if number else "preempted", f"{preemption.victim} on {preemption.node} for {by}"))
    if len(summary.preemptions) > MOST_PREEMPTIONS_SHOWN:
        facts.append(("", f"and {len(summary.preemptions) - MOST_PREEMPTIONS_SHOWN:,} more (-o json has all)"))
    if summary.gap_count:
        facts.append(("gaps", str(summary.gap_count)))
        for gap in summary.gaps[:MOST_GAPS_SHOWN]:
            what = "late, nothing lost" if gap.complete else "changes in between not seen"
            reason = f" ({gap.message})" if gap.message else ""
            facts.append(("", f"{moment(gap.since)}, {_duration(gap.time - gap.since)}: {gap.kind}, {what}{reason}"))
    return facts


def _origin(header: Header) -> str:
    parts = [header.source or "unknown origin"]
    if header.kubernetes:
        parts.append(f"Kubernetes {header.kubernetes}")
    if header.kubesched:
        parts.append(f"kubesched {header.kubesched}")
    if header.anonymised:
        parts.append("anonymised")
    if header.configuration is not None:
        parts.append("with the scheduler's configuration")
    return ", ".join(parts)


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())


def _curves(summary: Summary, width: int) -> Table:
    names = [*summary.resources()[:MOST_RESOURCES], "arrivals"]
    columns, together = _folded(summary.columns, max(LEAST_BARS, width - max(map(len, names)) - NOTE_WIDTH))
    curves = Table(box=None, pad_edge=False, show_header=False)
    curves.add_column(style="bold")
    curves.add_column(no_wrap=True, style="cyan")
    curves.add_column(no_wrap=True)
    seconds = summary.column_seconds * together
    arrivals = [float(column.arrivals) for column in columns]
    curves.add_row("arrivals", bars(arrivals), f"up to {max(arrivals) / seconds:,.2f} pods/s")
    for name in ("running", "pending"):
        values = [float(getattr(column, name)) for column in columns]
        curves.add_row(name, bars(values), f"{min(values):,.0f}–{max(values):,.0f} pods, {values[-1]:,.0f} at the end")
    for resource in summary.resources()[:MOST_RESOURCES]:
        values = [column.share(resource) for column in columns]
        curves.add_row(
            escape(resource),
            bars(values, highest=max(1.0, *values)),
            f"{min(values):.0%}–{max(values):.0%} requested",
        )
    curves.add_row("", f"each column is {_duration(seconds)}")
    return curves


def _folded(columns: Sequence[Column], most: int) -> tuple[list[Column], int]:
    """At most so many columns, each made of several; and how many of them."""
    together = -(-len(columns) // most)
    folded = []
    for start in range(0, len(columns), together):
        group = columns[start : start + together]
        folded.append(replace(group[-1], arrivals=sum(column.arrivals for column in group)))
    return folded, together


def bars(values: Sequence[float], highest: float | None = None) -> str:
    """A line of blocks; what is more than nothing is seen."""
    top = max(values, default=0.0) if highest is None else highest
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[0 if value <= 0 else max(1, round(value / top * (len(_BARS) - 1)))] for value in values)


def moment(time: float) -> str:
    try:
        return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}Z"
    except (ValueError, OverflowError, OSError):
        return f"{time:g}"  # seconds that are no date: generated traces may begin at 0 or anywhere


def _duration(seconds: float) -> str:
    rounded = round(seconds, 3) if seconds < 10 else round(seconds)
    try:
        return format_duration(timedelta(seconds=rounded))
    except OverflowError:
        return f"{seconds:g}s"
