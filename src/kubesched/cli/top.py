"""`kubesched top`: a cluster in the terminal, live or from files. It only reads."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
import uvloop
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kubesched.apps.inputs.objects import NO_TRACE
from kubesched.apps.page.node_map import PODS, NodeMap
from kubesched.apps.page.policies import Policy
from kubesched.apps.page.queue_view import QueueFilter, QueueRow, queue_view
from kubesched.apps.page.source import PageSource
from kubesched.apps.page.sources import loaded_cluster, watched_cluster
from kubesched.apps.up.picture import AttemptCounts, ClusterMonitor, ClusterSummary, EventLine, LastEvents
from kubesched.cli.cluster_view import (
    NARROW,
    ROUTINE,
    bar_of,
    event_table,
    height_of,
    node_part,
    pod_counts,
    shortened,
)
from kubesched.cli.options import KubeconfigFile, Moment, ObjectFiles, Output, OutputFormat, objects_of
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError

app = typer.Typer(add_completion=False, help="Show a cluster in the terminal.")

REFRESH_SECONDS: Final = 1.0
EVENTS_SECONDS: Final = 5.0
"""A snapshot waits so long for the list of events."""
PLAIN_WIDTH: Final = 240
RECENT: Final = 10
"""Events in a snapshot."""
FEWEST: Final = 3
"""Rows of any table, however low the terminal is."""
NOT_TRIED: Final = "no scheduler has reported about it yet"
BAR: Final = 10


class Top:
    """What is to be seen of a cluster that somebody else schedules."""

    def __init__(self, source: PageSource, events: LastEvents) -> None:
        self._source = source
        self._attempts = AttemptCounts(source.clock, source.placements)
        self._map = NodeMap(source.assembled.cache.cluster.nodes)
        self.title = source.title
        self.monitor = ClusterMonitor(source.assembled, self._attempts, events, schedules=False)

    @property
    def problem(self) -> str:
        return self.monitor.events.problem

    def totals(self) -> dict[str, list[int]]:
        """By resource: [requested, allocatable]."""
        self._map.advance()
        return self._map.totals()

    def waiting(self) -> tuple[list[QueueRow], int]:
        """Those that wait longest, and how many there are."""
        view = queue_view(self._source, QueueFilter())
        return view["rows"], view["matching"]

    def recent(self, most: int) -> list[EventLine]:
        """The last events; where none can be had, the last placements."""
        return self.monitor.events.last(most, without=ROUTINE) or self.monitor.placements(most)


@app.command()
def top(
    kubeconfig: KubeconfigFile = "",
    manifests: ObjectFiles = None,
    at: Moment = "",
    once: Annotated[bool, typer.Option("--once", help="One snapshot instead of the live view.")] = False,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Show how full the nodes are, which pods wait and why, and what has just happened: live; q ends it.

    Files, a trace, and an output that is no terminal get one snapshot. Nothing is changed in the cluster.
    """
    policy = Policy(gates=FeatureGates())
    if manifests:
        objects = objects_of(manifests, kubeconfig, policy.gates, at=at)
        _print(Top(loaded_cluster(objects, _title(manifests, at), policy), LastEvents()), output)
        return
    if at:
        raise ConfigurationError([NO_TRACE])
    live = sys.stdout.isatty() and not once and output is Output.TEXT
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_follow(kubeconfig, policy, output, live=live))


def _title(paths: list[Path], at: str) -> str:
    return ", ".join(map(str, paths)) + (f" at {at}" if at else "")


async def _follow(kubeconfig: str, policy: Policy, output: Output, *, live: bool) -> None:
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    events = LastEvents()
    async with watched_cluster(kubeconfig, policy, events) as source:
        with suppress(TimeoutError):
            await asyncio.wait_for(events.listed.wait(), EVENTS_SECONDS)
        if live:
            await _show(Top(source, events), over)
        else:
            _print(Top(source, events), output)


async def _show(cluster: Top, over: asyncio.Event) -> None:
    """Draw until it is over."""
    console = Console()
    with _keys(over), Live(console=console, auto_refresh=False, screen=True, vertical_overflow="crop") as live:
        while not over.is_set():
            live.update(screen(cluster, console), refresh=True)
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), REFRESH_SECONDS)


@contextmanager
def _keys(over: asyncio.Event) -> Iterator[None]:
    """Without waiting for Enter: q ends it, other keys do nothing."""
    if not sys.stdin.isatty():
        yield
        return
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()

    def read() -> None:
        typed = os.read(terminal, 64)
        if not typed or b"q" in typed.lower():
            over.set()

    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    loop.add_reader(terminal, read)
    try:
        yield
    finally:
        loop.remove_reader(terminal)
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def screen(cluster: Top, console: Console) -> RenderableType:
    """One picture, as high as the terminal: nodes, then who waits, then what has just happened."""
    picture, (rows, waiting) = cluster.monitor.picture(), cluster.waiting()
    above = _header(cluster, picture, console.width)
    below = Text("q: quit · why a pod waits, and what would help: kubesched explain NAMESPACE/POD", "dim")
    below.truncate(console.width, overflow="ellipsis")
    headings = 3 if waiting else 2
    room = console.height - headings - height_of(above, console) - height_of(below, console)
    pending_rows = min(waiting, max(FEWEST, room // 3))
    node_rows = min(picture.nodes, max(FEWEST, room - pending_rows - max(FEWEST, room // 4)))
    nodes, node_rows = node_part(cluster.monitor, picture.nodes, node_rows, console.width)
    pending_rows = min(pending_rows, max(1, room - node_rows - 1))
    recent = cluster.recent(max(1, room - pending_rows - node_rows))
    pending = [_pending(rows, waiting, pending_rows, console.width)] if waiting else []
    return Group(above, nodes, *pending, event_table(recent, console.width), below)


def snapshot(cluster: Top, console: Console) -> RenderableType:
    """Everything, however long."""
    picture, (rows, waiting) = cluster.monitor.picture(), cluster.waiting()
    parts: list[RenderableType] = [Text(cluster.title, "bold"), *_facts(cluster, picture)]
    if picture.nodes:
        parts.append(node_part(cluster.monitor, picture.nodes, picture.nodes, console.width)[0])
    if waiting:
        parts.append(_pending(rows, waiting, len(rows) + (waiting > len(rows)), console.width))
    if recent := cluster.recent(RECENT):
        parts.append(event_table(recent, console.width))
    return Group(*parts)


def as_data(cluster: Top) -> dict[str, Any]:
    """The same for programs."""
    picture, (rows, waiting) = cluster.monitor.picture(), cluster.waiting()
    return {
        "cluster": cluster.title,
        "summary": picture,
        "requested": {
            name: {"requested": used, "allocatable": offered} for name, (used, offered) in cluster.totals().items()
        },
        "nodes": cluster.monitor.node_lines(picture.nodes),
        "waiting": waiting,
        "pending": rows,
        "recent": cluster.recent(RECENT),
    }


def _print(cluster: Top, output: Output) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    if output is Output.JSON:
        typer.echo(msgspec.json.format(msgspec.json.encode(as_data(cluster)), indent=2))
        return
    with console.capture() as captured:
        console.print(snapshot(cluster, console))
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def _header(cluster: Top, picture: ClusterSummary, width: int) -> RenderableType:
    seen = f"{picture.scheduled:,} pods placed since this started, {picture.decisions_per_second:,.0f} per second"
    lines = [*_facts(cluster, picture), Text.assemble(("seen  ", "bold"), seen)]
    if cluster.problem:
        lines.append(Text(f"no connection, this is what was last seen: {cluster.problem}", "bold red"))
    for line in lines:
        line.truncate(max(1, width - 4), overflow="ellipsis")
    title = f"[bold]kubesched top[/bold] · {escape(cluster.title)}"
    return Panel(Group(*lines), title=title, title_align="left", border_style="blue")


def _facts(cluster: Top, picture: ClusterSummary) -> list[Text]:
    nodes = Text.assemble(("nodes  ", "bold"), f"{picture.ready_nodes:,} of {picture.nodes:,} ready")
    for name, (requested, offered) in cluster.totals().items():
        if name in ("cpu", "memory") and offered:
            nodes.append_text(Text.assemble((f"   {name} ", "bold"), bar_of(requested / offered, BAR)))
        elif name not in (PODS, "ephemeral-storage") and offered:
            nodes.append_text(Text.assemble((f"   {name} ", "bold"), f"{requested:,}/{offered:,}"))
    return [nodes, pod_counts(picture)]


def _pending(rows: list[QueueRow], total: int, most: int, width: int) -> RenderableType:
    """So many lines of pods that wait; the last one counts the others if there are more."""
    table = Table(box=None, padding=(0, 1), header_style="dim", expand=True)
    for name in ("since", "pending pod", "", "reason"):
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1 if name == "reason" else None)
    shown = rows[: most - 1] if total > most else rows[:most]
    longest = width // 4 if width < NARROW else width // 3
    for row in shown:
        pod = shortened(row.pod.removeprefix("default/"), longest)
        style = "red" if row.place == "unschedulable" else "yellow"
        reason = escape(row.message or NOT_TRIED)
        table.add_row(_day_and_time(row.created), escape(pod), Text(row.place, style), reason)
    if total > len(shown):
        table.add_row("", f"… and {total - len(shown):,} more", "", "", style="dim")
    return table


def _day_and_time(at: datetime | None) -> str:
    """A pod may have waited for days."""
    return at.astimezone().strftime("%b %d %H:%M") if at is not None else ""
