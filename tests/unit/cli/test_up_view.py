"""How `kubesched up` looks."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from kubesched.apps.up.lifecycle import Up
from kubesched.apps.up.picture import ClusterMonitor, ClusterSummary, EventLine, NodeLine
from kubesched.cli.up_view import Headline, screen, summary
from kubesched.clock import VirtualClock

PICTURE = ClusterSummary(
    nodes=2,
    ready_nodes=1,
    waiting=3,
    unschedulable=1,
    gated=0,
    starting=2,
    running=40,
    ending=1,
    scheduled=1234,
    rejected=5,
    decisions_per_second=99.6,
)


LONG = "a-deployment-with-a-long-name-5c7b9d8f6-x2v4q"


class FixedEvents:
    def last(self, most: int, without: object = ()) -> list[EventLine]:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return [
            EventLine(number=1, at=at, kind="Pod", name="web-1", reason="Scheduled", note="to n1", is_warning=False),
            EventLine(number=2, at=None, kind="Pod", name="[x]", reason="Failed", note="no [room]", is_warning=True),
            *[EventLine(number=3, at=at, kind="Pod", name=LONG, reason="Failed", note="no", is_warning=True)] * 100,
        ][:most]


class FixedObservatory:
    events = FixedEvents()

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes

    def picture(self) -> ClusterSummary:
        return ClusterSummary(**{name: getattr(PICTURE, name) for name in PICTURE.__slots__} | {"nodes": self._nodes})

    def node_lines(self, most: int) -> list[NodeLine]:
        line = NodeLine(name="n1", zone="zone-a", state="NotReady", cpu=0.5, memory=1.2, pods=3, pod_limit=110)
        return [line] * min(most, self._nodes)

    def filling(self) -> list[int]:
        return [900, 100, *[0] * 8]


def drawn(nodes: int, headline: Headline, *, width: int = 150, height: int = 40) -> str:
    monitor = cast(ClusterMonitor, FixedObservatory(nodes))
    up = Up(address="https://127.0.0.1:8001", kubeconfig=Path("k"), monitor=monitor, clock=VirtualClock())
    console = Console(width=width, height=height, file=io.StringIO())
    console.print(screen(up, headline, console))
    return cast(io.StringIO, console.file).getvalue()


@pytest.mark.parametrize(
    "expected",
    [
        "https://127.0.0.1:8001",
        "1 of 2 ready",
        "40 running",
        "1,234 pods placed",
        "100 decisions/s",
        "web: a shop",
        "NotReady",
        "50%",
        "pod/web-1",
        "pod/[x]",
        "no [room]",
        "export KUBECONFIG=k",
    ],
)
def test_the_view_shows(expected: str) -> None:
    """Counts, nodes, events (their text as it is, no markup), and how to reach the cluster."""
    assert expected in drawn(2, Headline(demo="web", explanation="a shop"))


def test_many_nodes_are_shown_as_a_distribution() -> None:
    """A thousand lines would not fit."""
    text = drawn(1000, Headline())
    assert "cpu requested" in text
    assert "900" in text


def test_the_line_for_logs_says_the_same() -> None:
    """One line with everything that is not zero."""
    assert summary(PICTURE) == ("nodes 1/2 ready · pods 40 running, 2 starting, 3 waiting, 1 unschedulable, 1 ending")


@pytest.mark.parametrize("nodes", [1, 5, 20, 1000])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (107, 40), (200, 50)])
def test_the_view_fills_the_terminal(nodes: int, width: int, height: int) -> None:
    """Nothing is cut off and no line is left empty, however long a demo's explanation is."""
    lines = drawn(nodes, Headline(demo="web", explanation="a shop " * 30), width=width, height=height).splitlines()
    assert len(lines) == height
    assert lines[-1].startswith("try: kubectl get pods")
    assert max(map(len, lines)) <= width


def test_a_long_name_keeps_its_end() -> None:
    """Pods of a set differ there."""
    assert "pod/a-deployment-wi…-x2v4q" in drawn(1, Headline(), width=80)
