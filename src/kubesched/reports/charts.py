"""Curves as SVG texts: they need no library where they are shown, and no network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol
from xml.sax.saxutils import escape

Points = Sequence[tuple[float, float]]

WIDTH: Final = 640
HEIGHT: Final = 360
LEFT: Final = 70
RIGHT: Final = 20
TOP: Final = 50
BOTTOM: Final = 55
LEGEND_ROW: Final = 16
LONGEST_NAME: Final = 32
"""Characters of a name beside a row."""
COLOURS: Final = ("#326ce5", "#d1495b", "#2e8b57", "#b8860b", "#7b4fa3", "#4a5568")


class Axis(Protocol):
    """From values to pixels."""

    def at(self, value: float) -> float: ...
    def ticks(self) -> list[float]: ...


class LogAxis:
    """Over whole powers of ten. Values must be greater than 0."""

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


class LinearAxis:
    """From the least value, or from 0 if that is a third of the most or less, to a round number above the most."""

    def __init__(self, least: float, most: float, start: float, end: float) -> None:
        low = 0.0 if 0 <= least <= most / 3 else least
        span = (most - low) or 1.0
        rough = span / 5
        magnitude = 10.0 ** math.floor(math.log10(rough))
        self._step = next(magnitude * factor for factor in (1, 2, 2.5, 5, 10) if magnitude * factor >= rough * 0.999)
        self._low = math.floor(low / self._step) * self._step
        self._high = math.ceil((low + span) / self._step - 1e-9) * self._step
        self._start = start
        self._end = end

    def at(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return round(self._start + share * (self._end - self._start), 1)

    def ticks(self) -> list[float]:
        count = round((self._high - self._low) / self._step)
        return [self._low + number * self._step for number in range(count + 1)]


def chart(
    title: str,
    x_label: str,
    series: Mapping[str, Points],
    *,
    axis: Callable[[float, float, float, float], Axis] = LinearAxis,
    dots: bool = False,
) -> str:
    """Curves by name over two axes of the same kind. There must be a point."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    across = axis(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    legend = _legend(series)
    top = TOP + LEGEND_ROW * max(row for _, row in legend)
    up = axis(min(ys), max(ys), HEIGHT - BOTTOM, top)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(LEFT, 20, title, size=15),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, anchor="middle"),
    ]
    for value in across.ticks():
        x = across.at(value)
        parts.append(_line(x, top, x, HEIGHT - BOTTOM))
        parts.append(_text(x, HEIGHT - BOTTOM + 18, short(value), anchor="middle"))
    for value in up.ticks():
        y = up.at(value)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(LEFT - 8, y + 4, short(value), anchor="end"))
    for number, ((name, points), (x, row)) in enumerate(zip(series.items(), legend, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(_text(x, 38 + LEGEND_ROW * row, name, colour=colour))
        parts += _curve([(across.at(x), up.at(y)) for x, y in points], colour, dots=dots)
    return "\n".join([*parts, "</svg>\n"])


def interval_chart(title: str, x_label: str, rows: Mapping[str, tuple[float, float, float]]) -> str:
    """A row per name: a dot for the middle of (low, middle, high), and a line from low to high. There must be a row."""
    lows, highs = [low for low, _, _ in rows.values()], [high for _, _, high in rows.values()]
    left, height = 230, TOP + 26 * len(rows) + BOTTOM
    across = LinearAxis(min(lows), max(highs), left, WIDTH - RIGHT)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        _text(20, 20, title, size=15),
        _text((left + WIDTH - RIGHT) / 2, height - 12, x_label, anchor="middle"),
    ]
    for value in across.ticks():
        x = across.at(value)
        parts.append(_line(x, TOP - 10, x, height - BOTTOM))
        parts.append(_text(x, height - BOTTOM + 18, short(value), anchor="middle"))
    for number, (name, (low, middle, high)) in enumerate(rows.items()):
        y, colour = TOP + 26 * number, COLOURS[number % len(COLOURS)]
        shown = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        parts.append(_text(left - 10, y + 4, shown, anchor="end"))
        parts.append(f'<path d="M{across.at(low)} {y}H{across.at(high)}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<circle cx="{across.at(middle)}" cy="{y}" r="4" fill="{colour}"/>')
    return "\n".join([*parts, "</svg>\n"])


def short(value: float) -> str:
    """A number as an axis shows it."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:g}"


def _legend(names: Iterable[str]) -> list[tuple[float, int]]:
    """Where each name stands under the title: (x, row), in as many rows as the names need."""
    places, x, row = [], float(LEFT), 0
    for name in names:
        width = 7.0 * len(name) + 16
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, row = float(LEFT), row + 1
        places.append((x, row))
        x += width
    return places


def _curve(points: Points, colour: str, *, dots: bool) -> list[str]:
    path = " ".join(f"{x},{y}" for x, y in points)
    marks = [f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in points] if dots else []
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *marks]


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "start", colour: str = "#333") -> str:
    place = f'x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"
