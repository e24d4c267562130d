"""The parts of a terminal view of a cluster: what `kubesched up` and `kubesched top` have in common."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kubesched.apps.up.picture import ClusterMonitor, ClusterSummary, EventLine, NodeLine

ROUTINE: Final = {"Pulling", "Pulled", "Created", "Started"}
"""Reasons that every start of a pod gives: `kubectl events` has them."""
BAR: Final = 16
NARROW_BAR: Final = 8
NARROW: Final = 100
NAME_END: Final = 6
"""Characters that tell the pods of a set from each other."""


def pod_counts(picture: ClusterSummary) -> Text:
    """The pods in a line, by where they are."""
    return Text.assemble(
        ("pods  ", "bold"),
        (f"{picture.running} running", "green"),
        "  ",
        (f"{picture.starting} starting", "cyan"),
        "  ",
        (f"{picture.waiting} waiting", "yellow"),
        "  ",
        (f"{picture.unschedulable} unschedulable", "red" if picture.unschedulable else "dim"),
        *((f"  {picture.gated} gated",) if picture.gated else ()),
        *((f"  {picture.ending} ending",) if picture.ending else ()),
    )


def node_part(monitor: ClusterMonitor, total: int, rows: int, width: int) -> tuple[RenderableType, int]:
    """The nodes in so many lines, or how full they are if that would show only a few; and the lines that it takes."""
    if total > 4 * rows:
        parts = monitor.filling()
        if len(parts) > rows:  # a low terminal: fifths instead of tenths
            parts = [sum(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        return _filling(parts), len(parts)
    shown = rows - 1 if total > rows else rows
    return _nodes(monitor.node_lines(shown), total, width), rows


def height_of(part: RenderableType, console: Console) -> int:
    return len(console.render_lines(part))


def _nodes(lines: list[NodeLine], total: int, width: int) -> RenderableType:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for name in ("node", "zone", "cpu", "memory", "pods", ""):
        table.add_column(name, no_wrap=True)
    bar = NARROW_BAR if width < NARROW else BAR
    for line in lines:
        table.add_row(
            escape(line.name),
            escape(line.zone),
            bar_of(line.cpu, bar),
            bar_of(line.memory, bar),
            f"{line.pods}/{line.pod_limit}",
            Text.assemble(
                (line.state, "red" if "NotReady" in line.state else "yellow"), " " if line.state else "", line.devices
            ),
        )
    if total > len(lines):
        table.add_row(f"… and {total - len(lines):,} more", style="dim")
    return table


def _filling(parts: list[int]) -> RenderableType:
    table = Table("cpu requested", "nodes", "", box=None, padding=(0, 1), header_style="dim")
    most, step = max(parts) or 1, 100 // len(parts)
    for number, count in enumerate(parts):
        percent = f"{number * step}–{(number + 1) * step} %"
        table.add_row(percent, f"{count:,}", Text("█" * round(count / most * 40), "cyan"))
    return table


def bar_of(part: float, length: int) -> Text:
    filled = min(length, round(part * length))
    color = "green" if part < 0.7 else "yellow" if part < 0.95 else "red"
    return Text.assemble(("█" * filled, color), ("░" * (length - filled), "dim"), f" {part:4.0%}")


def event_table(lines: list[EventLine], width: int) -> RenderableType:
    table = Table(box=None, padding=(0, 1), header_style="dim", expand=True)
    for name in ("time", "object", "reason", "message"):
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1 if name == "message" else None)
    for line in lines:
        style = "yellow" if line.is_warning else ""
        name = shortened(f"{line.kind.lower()}/{line.name}", max(20, width // 3))
        table.add_row(time_text(line.at), escape(name), line.reason, escape(line.note), style=style)
    return table


def shortened(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - NAME_END - 1]}…{name[-NAME_END:]}"


def time_text(at: datetime | None) -> str:
    return at.astimezone().strftime("%H:%M:%S") if at is not None else ""
