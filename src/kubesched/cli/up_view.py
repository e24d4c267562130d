"""How `kubesched up` looks: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from kubesched.apps.up.lifecycle import Up
from kubesched.apps.up.picture import ClusterSummary
from kubesched.cli.cluster_view import ROUTINE, event_table, height_of, node_part, pod_counts, time_text

REFRESH_SECONDS: Final = 0.5
LINES_PER_SECOND: Final = 20
TABLE_HEADINGS: Final = 2
FEWEST_NODES: Final = 3
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
            print(f"{time_text(line.at)} {line.kind} {line.name}: {line.reason}: {line.note}", flush=True)
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
    room = console.height - TABLE_HEADINGS - sum(height_of(part, console) for part in (*above, below))
    node_rows = min(picture.nodes, max(FEWEST_NODES, room - FEWEST_EVENTS))
    nodes, node_rows = node_part(monitor, picture.nodes, node_rows, console.width)
    events = monitor.events.last(max(1, room - node_rows), without=ROUTINE)
    return Group(*above, nodes, event_table(events, console.width), below)


def _header(up: Up, picture: ClusterSummary) -> RenderableType:
    decided = Text.assemble(
        ("scheduler  ", "bold"),
        f"{picture.decisions_per_second:,.0f} decisions/s   {picture.scheduled:,} pods placed   ",
        f"{picture.rejected:,} attempts without a place",
    )
    ready = Text.assemble(("nodes  ", "bold"), f"{picture.ready_nodes:,} of {picture.nodes:,} ready")
    title = f"[bold]kubesched up[/bold] · {escape(up.address)}"
    return Panel(Group(ready, pod_counts(picture), decided), title=title, title_align="left", border_style="blue")


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
