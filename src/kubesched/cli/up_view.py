"""How `kubesched up` looks: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kubesched.apps.up.lifecycle import Up
from kubesched.apps.up.picture import ClusterSummary, EventLine, NodeLine

REFRESH_SECONDS: Final = 0.5
ROUTINE: Final = {"Pulling", "Pulled", "Created", "Started"}
"""Reasons that every start of a pod gives: `kubectl events` has them."""
LINES_PER_SECOND: Final = 20
BAR: Final = 16
NARROW_BAR: Final = 8
NARROW: Final = 100
TABLE_HEADINGS: Final = 2
FEWEST_NODES: Final = 3
FEWEST_EVENTS: Final = 5
NAME_END: Final = 6
"""Characters that tell the pods of a set from each other."""
HINTS: Final = (
    "kubectl get pods -o wide",
    "kubectl get nodes",
    "kubectl events",
    "kubectl scale deployment NAME --replicas=20",
    "kubectl drain NODE --ignore-daemonsets",
    "kubectl annotate node NODE kubesched.io/down=true",
)


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What a demo is about."""

    demo: str = ""
    explanation: str = ""


async def show_live(up: Up, headline: Headline) -> None:
    """Draw until cancelled."""
    console = Console()
    with Live(console=console, auto_refresh=False, screen=False, vertical_overflow="crop") as live:
        while True:
            live.update(screen(up, headline, console), refresh=True)
            await up.clock.sleep(REFRESH_SECONDS)


async def show_lines(up: Up, headline: Headline) -> None:
    """Write what happens, line by line, until cancelled."""
    print(f"API server: {up.address}", flush=True)
    print(f"export KUBECONFIG={up.kubeconfig}", flush=True)
    if up.page:
        print(f"Page: {up.page}", flush=True)
    if headline.demo:
        print(f"Demo {headline.demo}: {headline.explanation}", flush=True)
    seen, last = 0, ""
    while True:
        news = up.monitor.events.since(seen)
        lines = [line for line in news if line.reason not in ROUTINE]
        for line in lines[:LINES_PER_SECOND]:
            print(f"{_time(line.at)} {line.kind} {line.name}: {line.reason}: {line.note}", flush=True)
        if len(lines) > LINES_PER_SECOND:
            print(f"… and {len(lines) - LINES_PER_SECOND} events more", flush=True)
        seen = news[-1].number if news else seen
        now = summary(up.monitor.picture())
        if now != last:
            print(now, flush=True)
            last = now
        await up.clock.sleep(1.0)


def summary(picture: ClusterSummary) -> str:
    """The cluster in a line."""
    return (
        f"nodes {picture.ready_nodes}/{picture.nodes} ready · pods {picture.running} running, "
        f"{picture.starting} starting, {picture.waiting} waiting, {picture.unschedulable} unschedulable"
        + (f", {picture.gated} gated" if picture.gated else "")
        + (f", {picture.ending} ending" if picture.ending else "")
    )


def screen(up: Up, headline: Headline, console: Console) -> RenderableType:
    """One picture, as high as the terminal if that has room for a few nodes and events."""
    monitor = up.monitor
    picture = monitor.picture()
    above: list[RenderableType] = [_header(up, picture)]
    if headline.demo:
        above.append(Text.assemble((f"{headline.demo}: ", "bold cyan"), headline.explanation))
    below = _hints(up, console.width)
    room = console.height - TABLE_HEADINGS - sum(_height(part, console) for part in (*above, below))
    node_rows = min(picture.nodes, max(FEWEST_NODES, room - FEWEST_EVENTS))
    if picture.nodes > 4 * node_rows:
        parts = monitor.filling()
        nodes, node_rows = _filling(parts), len(parts)
    elif picture.nodes > node_rows:
        nodes = _nodes(monitor.node_lines(node_rows - 1), picture.nodes, console.width)
    else:
        nodes = _nodes(monitor.node_lines(node_rows), picture.nodes, console.width)
    events = monitor.events.last(max(1, room - node_rows), without=ROUTINE)
    return Group(*above, nodes, _events(events, console.width), below)


def _height(part: RenderableType, console: Console) -> int:
    return len(console.render_lines(part))


def _header(up: Up, picture: ClusterSummary) -> RenderableType:
    pods = Text.assemble(
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
    decided = Text.assemble(
        ("scheduler  ", "bold"),
        f"{picture.decisions_per_second:,.0f} decisions/s   {picture.scheduled:,} pods placed   ",
        f"{picture.rejected:,} attempts without a place",
    )
    ready = Text.assemble(("nodes  ", "bold"), f"{picture.ready_nodes:,} of {picture.nodes:,} ready")
    title = f"[bold]kubesched up[/bold] · {escape(up.address)}"
    return Panel(Group(ready, pods, decided), title=title, title_align="left", border_style="blue")


def _nodes(lines: list[NodeLine], total: int, width: int) -> RenderableType:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for name in ("node", "zone", "cpu", "memory", "pods", ""):
        table.add_column(name, no_wrap=True)
    bar = NARROW_BAR if width < NARROW else BAR
    for line in lines:
        table.add_row(
            escape(line.name),
            escape(line.zone),
            _bar(line.cpu, bar),
            _bar(line.memory, bar),
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
    most = max(parts) or 1
    for number, count in enumerate(parts):
        table.add_row(f"{number * 10}–{number * 10 + 10} %", f"{count:,}", Text("█" * round(count / most * 40), "cyan"))
    return table


def _bar(part: float, length: int) -> Text:
    filled = min(length, round(part * length))
    color = "green" if part < 0.7 else "yellow" if part < 0.95 else "red"
    return Text.assemble(("█" * filled, color), ("░" * (length - filled), "dim"), f" {part:4.0%}")


def _events(lines: list[EventLine], width: int) -> RenderableType:
    table = Table(box=None, padding=(0, 1), header_style="dim", expand=True)
    for name in ("time", "object", "reason", "message"):
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1 if name == "message" else None)
    for line in lines:
        style = "yellow" if line.is_warning else ""
        name = _shortened(f"{line.kind.lower()}/{line.name}", max(20, width // 3))
        table.add_row(_time(line.at), escape(name), line.reason, escape(line.note), style=style)
    return table


def _shortened(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - NAME_END - 1]}…{name[-NAME_END:]}"


def _hints(up: Up, width: int) -> RenderableType:
    """How to reach the cluster, and a line of suggestions."""
    suggestions = f"try: {HINTS[0]}"
    for hint in HINTS[1:]:
        if len(suggestions) + len(hint) + 3 <= width:
            suggestions += f" · {hint}"
    page = (("in a browser: ", "dim"), (up.page, f"bold link {up.page}"), "\n") if up.page else ()
    return Text.assemble(
        *page,
        ("in another terminal: ", "dim"),
        (f"export KUBECONFIG={up.kubeconfig}", "bold"),
        "\n",
        (suggestions, "dim"),
    )


def _time(at: datetime | None) -> str:
    return at.astimezone().strftime("%H:%M:%S") if at is not None else ""
