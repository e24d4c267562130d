"""How the cost of a pod grows: plots of benchmark results, as SVG."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

import msgspec

from kubesched.errors import ConfigurationError

Points = Sequence[tuple[float, float]]

WIDTH: Final = 640
HEIGHT: Final = 360
LEFT: Final = 70
RIGHT: Final = 20
TOP: Final = 50
BOTTOM: Final = 55
COLOURS: Final = ("#326ce5", "#d1495b", "#2e8b57", "#b8860b")

_SIZE: Final = re.compile(r"^(?P<case>[^/]+)/(?P<nodes>\d+)Nodes_(?P<pods>\d+)Pods/")
_KINDS: Final = re.compile(r"^Kinds(\d+)$")


class _Item(msgspec.Struct):
    data: dict[str, float]
    labels: dict[str, str]


class _Results(msgspec.Struct, rename="camel"):
    data_items: list[_Item]


def read_results(file: Path) -> dict[str, Any]:
    """What `bench --json` wrote; ConfigurationError if the file holds something else."""
    try:
        document: dict[str, Any] = msgspec.json.decode(file.read_bytes())
        msgspec.convert(document, _Results)
    except msgspec.DecodeError as error:
        raise ConfigurationError([f"{file}: not a file of results: {error}"]) from error
    return document


def growth_plots(documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """SVG texts by file name, of the dataItems of workloads named `CASE/<n>Nodes_<m>Pods`.

    Cases called Kinds<n> are one curve over the number of kinds. ConfigurationError if there is nothing to plot.
    """
    by_nodes: dict[str, list[tuple[float, float]]] = defaultdict(list)
    by_pods: dict[str, list[tuple[float, float]]] = defaultdict(list)
    by_kinds: list[tuple[float, float]] = []
    for size, cost in _costs(documents):
        case, nodes, pods = size["case"], float(size["nodes"]), float(size["pods"])
        if kinds := _KINDS.match(case):
            by_kinds.append((float(kinds[1]), cost))
            continue
        by_nodes[f"{case}, {pods:,.0f} pods"].append((nodes, cost))
        by_pods[f"{case}, {nodes:,.0f} nodes"].append((pods, cost))
    curves = {
        "cost-by-nodes.svg": ("nodes", by_nodes),
        "cost-by-pods.svg": ("pods", by_pods),
        "cost-by-kinds.svg": ("kinds of pods, in turns", {"Kinds": by_kinds}),
    }
    plots = {
        name: chart("CPU time per pod (µs)", label, several)
        for name, (label, series) in curves.items()
        if (several := {title: sorted(points) for title, points in series.items() if len(points) > 1})
    }
    if not plots:
        raise ConfigurationError(["nothing to plot: no two results differ in nodes, pods or kinds"])
    return plots


def _costs(documents: Sequence[Mapping[str, Any]]) -> list[tuple[re.Match[str], float]]:
    """CPU microseconds per pod of every result with a size in its name."""
    found = []
    for document in documents:
        for item in document["dataItems"]:
            size = _SIZE.match(item["labels"].get("Name", ""))
            if size and item["labels"].get("Metric") == "Seconds" and item["data"].get("Pods"):
                found.append((size, item["data"]["CPU"] / item["data"]["Pods"] * 1e6))
    return found


def chart(title: str, x_label: str, series: Mapping[str, Points]) -> str:
    """Curves over two logarithmic axes."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    across = _Axis(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    up = _Axis(min(ys), max(ys), HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(LEFT, 20, title, size=15),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, anchor="middle"),
    ]
    for value in across.ticks():
        x = across.at(value)
        parts.append(_line(x, TOP, x, HEIGHT - BOTTOM))
        parts.append(_text(x, HEIGHT - BOTTOM + 18, _short(value), anchor="middle"))
    for value in up.ticks():
        y = up.at(value)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(LEFT - 8, y + 4, _short(value), anchor="end"))
    for number, (name, points) in enumerate(series.items()):
        parts += _curve(name, [(across.at(x), up.at(y)) for x, y in points], number)
    return "\n".join([*parts, "</svg>\n"])


class _Axis:
    """From values to pixels, over whole powers of ten."""

    def __init__(self, least: float, most: float, start: float, end: float) -> None:
        self._low = math.floor(math.log10(least))
        self._high = max(self._low + 1, math.ceil(math.log10(most)))
        self._start = start
        self._end = end

    def at(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return round(self._start + share * (self._end - self._start), 1)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]


def _curve(name: str, points: Points, number: int) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    path = " ".join(f"{x},{y}" for x, y in points)
    dots = [f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in points]
    legend = _text(WIDTH - RIGHT, 20 + 16 * number, name, anchor="end", colour=colour)
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots, legend]


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", colour: str = "#333") -> str:
    place = f'x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
