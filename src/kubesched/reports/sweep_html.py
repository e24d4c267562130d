"""A sweep's report as one HTML page, and its plots as SVG texts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from kubesched.reports.charts import chart, interval_chart
from kubesched.reports.html import framed, page, table
from kubesched.reports.statistics import interval
from kubesched.reports.sweep import Line, SweepReport
from kubesched.reports.sweep_text import signed, with_confidence


def sweep_page(report: SweepReport) -> str:
    """One file, which needs no network."""
    return page(f"kubesched sweep: {report.name}", sweep_body(report))


def sweep_body(report: SweepReport) -> str:
    """Without the page around it: a notebook has one already."""
    return framed("\n".join(_sections(report)))


def plots(report: SweepReport) -> Iterator[tuple[str, str]]:
    """Names and SVG texts: per scenario and metric every policy's mean with its confidence; per metric, what changes
    with the number of nodes, or with the parameter that was varied."""
    for scenario in report.scenarios:
        for metric in report.metrics:
            rows = {}
            for policy in report.policies:
                values = list(report.values(scenario, policy, metric).values())
                if values:
                    found = interval(values)
                    half = found.half_width or 0.0
                    rows[policy] = (found.mean - half, found.mean, found.mean + half)
            if rows:
                yield f"{scenario}, {metric}", interval_chart(f"{metric} ({scenario})", report.facts[metric].unit, rows)
    for metric in report.metrics:
        for label, series in _curves(report, metric):
            yield f"{metric} by {label}", chart(f"{metric} by {label}", label, series, dots=True)


def _curves(report: SweepReport, metric: str) -> Iterator[tuple[str, dict[str, list[tuple[float, float]]]]]:
    """Against everything numeric that has several values: a curve per policy, of the mean over all else."""
    names = dict.fromkeys(name for result in report.results for name in result.parameters)
    for label in ("nodes", *names):
        series: dict[str, dict[float, list[float]]] = {}
        for result in report.results:
            value = result.nodes if label == "nodes" else result.parameters.get(label)
            if isinstance(value, int | float) and metric in result.metrics:
                policy = result.policy.partition(" (")[0]
                series.setdefault(policy, {}).setdefault(float(value), []).append(result.metrics[metric])
        several = {name: points for name, points in series.items() if len(points) > 1}
        if several:
            yield (
                label,
                {name: [(x, sum(ys) / len(ys)) for x, ys in sorted(of.items())] for name, of in several.items()},
            )


def _sections(report: SweepReport) -> Iterator[str]:
    yield f"<h1>{escape(report.name)}</h1>"
    runs = len(report.results)
    yield f"<p>{runs:,} runs; means with 95 % confidence, differences pair by pair to {escape(report.against)}.</p>"
    cards = "".join(f'<div class="card">{svg}</div>' for _, svg in plots(report))
    yield f'<div class="grid">{cards}</div>'
    lines = list(report.lines(list(report.facts)))
    for scenario in report.scenarios:
        yield f"<h2>{escape(scenario)}</h2>"
        yield _table(report, [line for line in lines if line.scenario == scenario])
    if report.errors:
        yield "<h2>Runs that failed</h2>"
        yield table(("runs", ""), [(f"{count:,}", error) for error, count in report.errors.items()])


def _table(report: SweepReport, lines: list[Line]) -> str:
    policies = list(dict.fromkeys(line.policy for line in lines))
    cells = {(line.policy, line.metric): line for line in lines}
    rows = []
    for metric in report.facts:
        row = [escape(metric)]
        for policy in policies:
            line = cells.get((policy, metric))
            row.append(_cell(report, line) if line else "")
        rows.append(row)
    return table(("", *policies), rows, numbers_from=1, escaped=True)


def _cell(report: SweepReport, line: Line) -> str:
    unit = report.facts[line.metric].unit
    text = escape(with_confidence(line.value, unit))
    if line.difference is None or not line.difference.interval.mean:
        return text
    kind = {True: "better", False: "worse", None: "dim"}[line.is_better]
    probability = line.difference.probability
    chance = f", p = {probability:.3f}" if probability is not None else ""
    return f'{text}<br><span class="{kind}">{escape(signed(line.difference.interval.mean, unit))}{chance}</span>'
