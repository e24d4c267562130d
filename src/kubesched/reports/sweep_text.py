"""A sweep's report for a terminal."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from kubesched.reports.statistics import Interval
from kubesched.reports.sweep import Line, SweepReport
from kubesched.reports.text import number

MOST_ERRORS: Final = 5
_NO_BOX: Final[Any] = None


def sweep_text(report: SweepReport) -> RenderableType:
    """Per scenario a table of means, then the differences to the first policy, then errors."""
    lines = list(report.lines())
    parts: list[RenderableType] = []
    for scenario in report.scenarios:
        here = [line for line in lines if line.scenario == scenario]
        parts += [f"[bold]{escape(scenario)}[/bold]", _means(report, here), ""]
        compared = [line for line in here if line.difference is not None and line.difference.interval.mean]
        if compared:
            parts += [f"against {escape(report.against)}, pair by pair:"]
            parts += [f"  {_difference(report, line)}" for line in compared]
            parts += [""]
    errors = report.errors
    if errors:
        parts.append(f"[red]{sum(errors.values()):,} runs failed[/red]")
        parts += [f"  {count:,} × {escape(error)}" for error, count in list(errors.items())[:MOST_ERRORS]]
    return Group(*parts)


def with_confidence(value: Interval, unit: str) -> str:
    """`12.1 ± 0.4 s`"""
    if not value.half_width:
        return number(value.mean, unit)
    return (
        f"{number(value.mean)} ± {number(value.half_width, unit if unit != 's' else '')} {unit if unit == 's' else ''}"
    )


def _means(report: SweepReport, lines: list[Line]) -> Table:
    table = Table(box=_NO_BOX, pad_edge=False)
    table.add_column("")
    for metric in report.metrics:
        table.add_column(escape(metric), justify="right")
    cells = {(line.policy, line.metric): line for line in lines}
    for policy in dict.fromkeys(line.policy for line in lines):
        row = []
        for metric in report.metrics:
            line = cells.get((policy, metric))
            row.append(_coloured(line, with_confidence(line.value, report.facts[metric].unit)) if line else "")
        table.add_row(escape(policy), *row)
    return table


def _difference(report: SweepReport, line: Line) -> str:
    assert line.difference is not None
    found = line.difference.interval
    unit = report.facts[line.metric].unit
    text = f"{escape(line.policy)}: {escape(line.metric)} {_coloured(line, signed(found.mean, unit))}"
    if found.low is None or found.high is None:
        return f"{text} (one pair: chance is not known)"
    verdict = "more than chance" if line.difference.is_more_than_chance else "may be chance"
    range_and_verdict = f"{signed(found.low)} to {signed(found.high)}; {verdict}"
    return f"{text} [dim]({range_and_verdict}, p = {line.difference.probability:.3f})[/dim]"


def signed(value: float, unit: str = "") -> str:
    return ("+" if value >= 0 else "-") + number(abs(value), unit)


def _coloured(line: Line, text: str) -> str:
    colour = {True: "green", False: "red", None: ""}[line.is_better]
    return f"[{colour}]{text}[/{colour}]" if colour else text
