"""A report as one HTML file: everything is in it, and it needs no network to be opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Final

from kubesched.reports.charts import chart
from kubesched.reports.metrics import curves, losers, metrics_of, reasons, waiting_by
from kubesched.reports.report import Comparison, Report
from kubesched.reports.run import RunResult
from kubesched.reports.text import number

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1340px; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } tr { border-bottom: 1px solid #eee; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(420px, 1fr)); gap: 1rem; }
.better { color: #1a7f37; } .worse { color: #b42318; } .dim { color: #777; }
@media (prefers-color-scheme: dark) { body { background: #16181d; color: #ddd; } tr { border-color: #333; }
  .charts svg { filter: invert(.92) hue-rotate(180deg); } }
"""


def report_page(report: Report, title: str = "kubesched replay") -> str:
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    guard = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return f'<!doctype html>\n<html lang="en"><head>{guard}{head}</head>\n<body>{report_body(report)}</body></html>\n'


def report_body(report: Report) -> str:
    """Without the page around it: a notebook has one already."""
    return "\n".join(_sections(report))


def _sections(report: Report) -> Iterator[str]:
    yield f"<h1>{escape(report.trace or 'replay')}: {escape(', '.join(report.runs))}</h1>"
    for comparison in report.comparisons:
        yield from _comparison(comparison)
    yield "<h2>Metrics</h2>"
    yield _metrics(report)
    yield "<h2>Over time</h2>"
    yield f'<div class="charts">{"".join(_charts(report))}</div>'
    for name, runs in report.runs.items():
        yield from _details(name, runs[0])
    hashes = [(run.name, str(run.seed), run.hash) for runs in report.runs.values() for run in runs]
    yield "<h2>Reproducible</h2>"
    yield "<p>The same trace, configuration and seed give the same result, and the same hash.</p>"
    yield _table(("policy", "seed", "hash"), hashes)


def _metrics(report: Report) -> str:
    per_policy = {name: (metrics_of(runs[0]), report.metrics(name)) for name, runs in report.runs.items()}
    names = dict.fromkeys(metric for found, _ in per_policy.values() for metric in found)
    rows = []
    for metric in names:
        cells = [
            number(sum(values[metric]) / len(values[metric]), found[metric].unit) if metric in found else ""
            for found, values in per_policy.values()
        ]
        rows.append((metric, *cells))
    return _table(("", *report.runs), rows, numbers_from=1)


def _charts(report: Report) -> Iterator[str]:
    per_policy: Mapping[str, Mapping[str, list[tuple[float, float]]]] = {
        name: curves(runs[0]) for name, runs in report.runs.items()
    }
    for title in dict.fromkeys(title for found in per_policy.values() for title in found):
        series = {name: found[title] for name, found in per_policy.items() if title in found}
        yield chart(title, "minutes since the start", series)


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield f"<h2>{escape(comparison.second)} against {escape(comparison.first)}</h2>"
    rows = []
    for difference in comparison.differences:
        if difference.before == difference.after:
            continue
        kind = {True: "better", False: "worse", None: ""}[difference.is_better]
        after = f'<span class="{kind}">{escape(number(difference.after, difference.unit))}</span>'
        chance = ""
        if difference.probability is not None:
            verdict = "more than chance" if difference.is_more_than_chance else "may be chance"
            chance = f"{verdict} (p = {difference.probability:.3f})"
        rows.append((escape(difference.metric), escape(number(difference.before, difference.unit)), after, chance))
    heads = ("", comparison.first, comparison.second, "")
    yield _table(heads, rows, numbers_from=1, escaped=True) if rows else "<p>No metric differs.</p>"
    yield f"<p>{comparison.moved:,} of {comparison.placed_by_both:,} pods are placed on another node.</p>"
    for pods, name in ((comparison.only_first, comparison.first), (comparison.only_second, comparison.second)):
        if pods:
            listed = escape(", ".join(pods[:20])) + (" …" if len(pods) > 20 else "")
            yield f"<p>Only {escape(name)} places {len(pods):,} pods: {listed}</p>"
    for moved in comparison.explained:
        yield f"<p><b>{escape(moved.pod)}</b>: {escape(moved.nodes[0])} → {escape(moved.nodes[1])}<br>"
        yield f"{escape(moved.verdict)}</p>"
        for policy, scores in zip((comparison.first, comparison.second), moved.scores, strict=True):
            table = [
                (plugin, *(str(by_node.get(node, "–")) for node in moved.nodes)) for plugin, by_node in scores.items()
            ]
            yield _table((policy, *moved.nodes), table, numbers_from=1)


def _details(name: str, run: RunResult) -> Iterator[str]:
    for title, found in (("why pods have no node at the end", reasons(run)), ("who was preempted", losers(run))):
        if found:
            yield f"<h2>{escape(name)}: {title}</h2>"
            yield _table(("pods", ""), [(f"{count:,}", reason) for reason, count in found.items()])
    for title, groups in (
        ("priority", waiting_by(run, lambda pod: str(pod.priority))),
        ("namespace", waiting_by(run, lambda pod: pod.namespace)),
    ):
        if len(groups) > 1:
            yield f"<h2>{escape(name)}: pending time by {title}</h2>"
            rows = [
                (group, f"{t.pods:,}", *(number(value, "s") for value in (t.p50, t.p90, t.p99, t.worst)))
                for group, t in groups.items()
            ]
            yield _table((title, "pods", "median", "p90", "p99", "worst"), rows, numbers_from=1)


def _table(
    heads: Iterable[str], rows: Iterable[Iterable[str]], *, numbers_from: int = 99, escaped: bool = False
) -> str:
    """`escaped`: cells are HTML already."""

    def cells(tag: str, values: Iterable[str], *, raw: bool) -> str:
        return "".join(
            f"<{tag}{' class=n' if number >= numbers_from else ''}>{value if raw else escape(value)}</{tag}>"
            for number, value in enumerate(values)
        )

    body = "".join(f"<tr>{cells('td', row, raw=escaped)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', heads, raw=False)}</tr></thead><tbody>{body}</tbody></table>"
