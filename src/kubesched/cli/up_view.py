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

from kubesched.assembly.up import Up
from kubesched.assembly.up_picture import EventLine, NodeLine, Picture

REFRESH_SECONDS: Final = 0.5
ROUTINE: Final = {"Pulling", "Pulled", "Created"}
"""Reasons that every start of a pod gives: `kubectl events` has them."""
LINES_PER_SECOND: Final = 20
BAR: Final = 16
OTHER_LINES: Final = 13  # header, frames, hints
FEWEST_EVENTS: Final = 5
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
            live.update(screen(up, headline, console.size.height), refresh=True)
            await up.clock.sleep(REFRESH_SECONDS)


async def show_lines(up: Up, headline: Headline) -> None:
    """Write what happens, line by line, until cancelled."""
    print(f"API server: {up.address}", flush=True)
    print(f"export KUBECONFIG={up.kubeconfig}", flush=True)
    if headline.demo:
        print(f"Demo {headline.demo}: {headline.explanation}", flush=True)
    seen, last = 0, ""
    while True:
        news = up.observatory.events.since(seen)
        lines = [line for line in news if line.reason not in ROUTINE]
        for line in lines[:LINES_PER_SECOND]:
            print(f"{_time(line.at)} {line.kind} {line.name}: {line.reason}: {line.note}", flush=True)
        if len(lines) > LINES_PER_SECOND:
            print(f"… and {len(lines) - LINES_PER_SECOND} events more", flush=True)
        seen = news[-1].number if news else seen
        now = summary(up.observatory.picture())
        if now != last:
            print(now, flush=True)
            last = now
        await up.clock.sleep(1.0)


def summary(picture: Picture) -> str:
    """The cluster in a line."""
    return (
        f"nodes {picture.ready_nodes}/{picture.nodes} ready · pods {picture.running} running, "
        f"{picture.starting} starting, {picture.waiting} waiting, {picture.unschedulable} unschedulable"
        + (f", {picture.gated} gated" if picture.gated else "")
        + (f", {picture.ending} ending" if picture.ending else "")
    )


def screen(up: Up, headline: Headline, height: int) -> RenderableType:
    """One picture, for a terminal of that height."""
    observatory = up.observatory
    picture = observatory.picture()
    room = max(4, height - OTHER_LINES - (2 if headline.demo else 0))
    node_rows = min(picture.nodes, max(3, room - FEWEST_EVENTS))
    events = observatory.events.last(max(FEWEST_EVENTS, room - node_rows), without=ROUTINE)
    parts: list[RenderableType] = [_header(up, picture)]
    if headline.demo:
        parts.append(Text.assemble((f"{headline.demo}: ", "bold cyan"), headline.explanation))
    if picture.nodes > 4 * node_rows:
        parts.append(_filling(observatory.filling()))
    else:
        parts.append(_nodes(observatory.node_lines(node_rows), picture.nodes))
    parts.append(_events(events))
    parts.append(_hints(up))
    return Group(*parts)


def _header(up: Up, picture: Picture) -> RenderableType:
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


def _nodes(lines: list[NodeLine], total: int) -> RenderableType:
    table = Table("node", "zone", "cpu", "memory", "pods", "", box=None, padding=(0, 1), header_style="dim")
    for line in lines:
        table.add_row(
            escape(line.name),
            escape(line.zone),
            _bar(line.cpu),
            _bar(line.memory),
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


def _bar(part: float) -> Text:
    filled = min(BAR, round(part * BAR))
    color = "green" if part < 0.7 else "yellow" if part < 0.95 else "red"
    return Text.assemble(("█" * filled, color), ("░" * (BAR - filled), "dim"), f" {part:4.0%}")


def _events(lines: list[EventLine]) -> RenderableType:
    table = Table("time", "object", "reason", "message", box=None, padding=(0, 1), header_style="dim", expand=True)
    for name, ratio in (("time", None), ("object", 3), ("reason", None), ("message", 6)):
        column = next(column for column in table.columns if column.header == name)
        column.no_wrap, column.overflow, column.ratio = True, "ellipsis", ratio
    for line in lines:
        style = "yellow" if line.is_warning else ""
        table.add_row(
            _time(line.at), escape(f"{line.kind.lower()}/{line.name}"), line.reason, escape(line.note), style=style
        )
    return table


def _hints(up: Up) -> RenderableType:
    return Text.assemble(
        ("in another terminal: ", "dim"),
        (f"export KUBECONFIG={up.kubeconfig}", "bold"),
        "\n",
        ("try: ", "dim"),
        (" · ".join(HINTS), "dim"),
    )


def _time(at: datetime | None) -> str:
    return at.astimezone().strftime("%H:%M:%S") if at is not None else ""
