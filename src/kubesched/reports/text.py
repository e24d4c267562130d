"""A report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from kubesched.reports.metrics import losers, metrics_of, reasons, waiting_by
from kubesched.reports.report import Comparison, Difference, MovedPod, Report
from kubesched.reports.run import RunResult

_NO_BOX: Final[Any] = None


def report_text(report: Report) -> RenderableType:
    """Metrics of all policies side by side, then what differs, and why pods move."""
    parts: list[RenderableType] = [_metrics(report), ""]
    for name, runs in report.runs.items():
        parts += _details(name, runs[0])
    for comparison in report.comparisons:
        parts += ["", *_comparison(comparison)]
    hashes = ", ".join(f"{run.name} seed {run.seed}: {run.hash}" for runs in report.runs.values() for run in runs)
    return Group(*parts, "", f"[dim]{escape(hashes)}[/dim]")


def number(value: float, unit: str = "") -> str:
    """A value as a person reads it."""
    if unit == "s" and value >= 120:
        minutes, seconds = divmod(round(value), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}h{minutes:02}m{seconds:02}s" if hours else f"{minutes}m{seconds:02}s"
    digits = 0 if value == int(value) or abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".strip()


def _metrics(report: Report) -> Table:
    table = Table(box=_NO_BOX, pad_edge=False)
    table.add_column("")
    for name in report.runs:
        table.add_column(escape(name), justify="right")
    per_policy = {name: (metrics_of(runs[0]), report.metrics(name)) for name, runs in report.runs.items()}
    names = dict.fromkeys(metric for found, _ in per_policy.values() for metric in found)
    for metric in names:
        cells = []
        for found, values in per_policy.values():
            if metric not in found:
                cells.append("")
                continue
            seeds = values[metric]
            cell = number(sum(seeds) / len(seeds), found[metric].unit)
            if len(seeds) > 1 and min(seeds) != max(seeds):
                cell += f" ({number(min(seeds))}–{number(max(seeds))})"
            cells.append(cell)
        table.add_row(metric, *cells)
    return table


def _details(name: str, run: RunResult) -> Iterator[RenderableType]:
    for title, found in (("why pods have no node", reasons(run)), ("who was preempted", losers(run))):
        if found:
            yield f"{escape(name)}: {title}"
            yield from (f"  {count:,} × {escape(reason)}" for reason, count in found.items())
    by_priority = waiting_by(run, lambda pod: f"priority {pod.priority}")
    if len(by_priority) > 1 and any(times.worst for times in by_priority.values()):
        yield f"{escape(name)}: pending time"
        for group, times in by_priority.items():
            median, p99 = number(times.p50, "s"), number(times.p99, "s")
            yield f"  {escape(group)}: median {median}, p99 {p99}, {times.pods:,} pods"


def _comparison(comparison: Comparison) -> Iterator[RenderableType]:
    yield f"[bold]{escape(comparison.second)} against {escape(comparison.first)}[/bold]"
    changed = [difference for difference in comparison.differences if difference.before != difference.after]
    if not changed:
        yield "no metric differs"
    for difference in changed:
        yield f"  {_difference(difference)}"
    yield f"  {comparison.moved:,} of {comparison.placed_by_both:,} pods are placed on another node"
    for pods, name in ((comparison.only_first, comparison.first), (comparison.only_second, comparison.second)):
        if pods:
            more = ", …" if len(pods) > 5 else ""
            yield f"  only {escape(name)} places {len(pods):,} pods: {escape(', '.join(pods[:5]))}{more}"
    for moved in comparison.explained:
        yield f"  {escape(moved.pod)}: {escape(moved.nodes[0])} → {escape(moved.nodes[1])}"
        yield f"    {escape(moved.verdict)}"
        yield from (f"    {line}" for line in _score_lines(moved, (comparison.first, comparison.second)))


def _difference(difference: Difference) -> str:
    before, after = number(difference.before, difference.unit), number(difference.after, difference.unit)
    colour = {True: "green", False: "red", None: "default"}[difference.is_better]
    text = f"{difference.metric}: {before} → [{colour}]{after}[/{colour}]"
    if difference.probability is None:
        return text
    verdict = "more than chance" if difference.is_more_than_chance else "may be chance"
    return f"{text} ({verdict}, p = {difference.probability:.3f})"


def _score_lines(moved: MovedPod, policies: Sequence[str]) -> Iterator[str]:
    for policy, scores in zip(policies, moved.scores, strict=True):
        differing = {plugin: by_node for plugin, by_node in scores.items() if len(set(by_node.values())) > 1}
        cells = [f"{plugin} {_by_node(by_node, moved.nodes)}" for plugin, by_node in differing.items()]
        if cells:
            yield f"[dim]{escape(policy)}: {escape('; '.join(cells))}[/dim]"


def _by_node(by_node: Mapping[str, int], nodes: Sequence[str]) -> str:
    return " : ".join(str(by_node.get(node, "–")) for node in nodes)
