"""A report as one HTML file: everything is in it, and it needs no network to be opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Final

from kubesched.reports.charts import chart
from kubesched.reports.metrics import curves, losers, metrics_of, reasons, waiting_by
from kubesched.reports.report import Comparison, Difference, MovedPod, Report
from kubesched.reports.run import RunResult
from kubesched.reports.text import number

STYLE: Final = """
.kubesched { --ink: #1f2328; --dim: #656d76; --rule: #d8dee4; --card: #ffffff; --back: #f6f8fa; --good: #1a7f37;
  --bad: #b42318; color: var(--ink); font: 15px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
@media (prefers-color-scheme: dark) { .kubesched { --ink: #e6edf3; --dim: #8d96a0; --rule: #30363d; --card: #161b22;
  --back: #0d1117; --good: #3fb950; --bad: #f85149; } }
.kubesched h1 { font-size: 1.6rem; margin: 0 0 .2rem; } .kubesched h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
.kubesched table { border-collapse: collapse; background: none; }
.kubesched tr { border-bottom: 1px solid var(--rule); }
.kubesched th, .kubesched td { padding: .25rem 1rem .25rem 0; text-align: left; vertical-align: top; }
.kubesched th { color: var(--dim); font-weight: 600; } .kubesched .n { text-align: right; }
.kubesched .grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(380px, 1fr)); gap: 1rem; }
.kubesched .card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: .8rem 1rem; }
.kubesched .facts { grid-template-columns: repeat(auto-fill, minmax(230px, 1fr)); margin-top: 1rem; }
.kubesched .facts b { display: block; font-size: 1.35rem; line-height: 1.3; }
.kubesched .better { color: var(--good); } .kubesched .worse { color: var(--bad); }
.kubesched .dim { color: var(--dim); }
.kubesched summary { cursor: pointer; } .kubesched details { margin: .4rem 0; }
.kubesched details table { margin: .5rem 1rem; }
.kubesched .most td { font-weight: 600; }
.kubesched svg { display: block; width: 100%; height: auto; } .kubesched svg rect { fill: var(--card); }
.kubesched svg line { stroke: var(--rule); } .kubesched svg text[fill="#333"] { fill: var(--ink); }
"""
PAGE_STYLE: Final = """
body { margin: 0; background: #f6f8fa; } .kubesched { max-width: 1340px; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
@media (prefers-color-scheme: dark) { body { background: #0d1117; } }
"""
MOST_FACTS: Final = 8
MOST_SPREADS: Final = 15
KINDS_OF_SPREAD: Final = {True: "DoNotSchedule", False: "ScheduleAnyway"}


def report_page(report: Report, title: str = "kubesched replay") -> str:
    return page(title, report_body(report))


def page(title: str, body: str) -> str:
    """A whole HTML file around what `framed` made. It loads nothing, and runs no scripts."""
    about = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{about}<title>{escape(title)}</title><style>{PAGE_STYLE}</style>"
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    guard = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return f'<!doctype html>\n<html lang="en"><head>{guard}{head}</head>\n<body>{body}</body></html>\n'


def report_body(report: Report) -> str:
    """Without the page around it: a notebook has one already."""
    return framed("\n".join(_sections(report)))


def framed(content: str) -> str:
    """Content with its style, which touches nothing else on a page."""
    return f'<div class="kubesched"><style>{STYLE}</style>{content}</div>'


def _sections(report: Report) -> Iterator[str]:
    yield f"<h1>{escape(report.trace or 'replay')}</h1>"
    seeds, policies = len(next(iter(report.runs.values()))), escape(", ".join(report.runs))
    yield f'<div class="dim">{policies}, {seeds} {"seed" if seeds == 1 else "seeds each"}</div>'
    for comparison in report.comparisons:
        yield from _differences(comparison)
    yield "<h2>Over time</h2>"
    yield f'<div class="grid">{"".join(_charts(report))}</div>'
    for comparison in report.comparisons:
        yield from _moved(comparison)
    yield "<h2>All metrics</h2>"
    yield _metrics(report)
    for name, runs in report.runs.items():
        yield from _details(name, runs[0])
    hashes = [(run.name, str(run.seed), run.hash) for runs in report.runs.values() for run in runs]
    yield "<h2>Reproducible</h2>"
    yield "<p>The same trace, configuration and seed give the same result, and the same hash.</p>"
    yield table(("policy", "seed", "hash"), hashes)


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
    return table(("", *report.runs), rows, numbers_from=1)


def _charts(report: Report) -> Iterator[str]:
    per_policy: Mapping[str, Mapping[str, list[tuple[float, float]]]] = {
        name: curves(runs[0]) for name, runs in report.runs.items()
    }
    for title in dict.fromkeys(title for found in per_policy.values() for title in found):
        series = {name: found[title] for name, found in per_policy.items() if title in found}
        yield f'<div class="card">{chart(title, "minutes since the start", series)}</div>'


def _differences(comparison: Comparison) -> Iterator[str]:
    """What differs most certainly, as cards; then everything that differs, as a table."""
    yield f"<h2>{escape(comparison.second)} against {escape(comparison.first)}</h2>"
    differing = [difference for difference in comparison.differences if difference.before != difference.after]
    if not differing:
        yield "<p>No metric differs.</p>"
        return
    telling = [d for d in differing if d.is_better is not None and (d.probability is None or d.is_more_than_chance)]
    yield f'<div class="grid facts">{"".join(map(_card, telling[:MOST_FACTS]))}</div>'
    rows = []
    for difference in differing:
        before, after = escape(number(difference.before, difference.unit)), _after(difference)
        rows.append((escape(difference.metric), before, after, _chance(difference)))
    heads = ("", comparison.first, comparison.second, "")
    listed = table(heads, rows, numbers_from=1, escaped=True)
    yield f"<details><summary>all {len(rows)} metrics that differ</summary>{listed}</details>"


def _card(difference: Difference) -> str:
    before, after = number(difference.before, difference.unit), _after(difference)
    chance = f'<div class="dim">{_chance(difference)}</div>' if difference.probability is not None else ""
    return f'<div class="card">{escape(difference.metric)}<b>{escape(before)} → {after}</b>{chance}</div>'


def _after(difference: Difference) -> str:
    kind = {True: "better", False: "worse", None: ""}[difference.is_better]
    return f'<span class="{kind}">{escape(number(difference.after, difference.unit))}</span>'


def _chance(difference: Difference) -> str:
    if difference.probability is None:
        return ""
    verdict = "more than chance" if difference.is_more_than_chance else "may be chance"
    return f"{verdict} (p = {difference.probability:.3f})"


def _moved(comparison: Comparison) -> Iterator[str]:
    yield f"<h2>Pods that {escape(comparison.second)} moves</h2>"
    yield f"<p>{comparison.moved:,} of {comparison.placed_by_both:,} pods are placed on another node.</p>"
    for pods, name in ((comparison.only_first, comparison.first), (comparison.only_second, comparison.second)):
        if pods:
            listed = escape(", ".join(pods[:20])) + (" …" if len(pods) > 20 else "")
            yield f"<p>Only {escape(name)} places {len(pods):,} pods: {listed}</p>"
    for place, moved in enumerate(comparison.explained):
        nodes = f"{escape(moved.nodes[0])} → {escape(moved.nodes[1])}"
        summary = f'<b>{escape(moved.pod)}</b>: {nodes} <span class="dim">{escape(moved.verdict)}</span>'
        scores = _scores(moved, comparison)
        yield f"<details{'' if place else ' open'}><summary>{summary}</summary>{scores}</details>"


def _scores(moved: MovedPod, comparison: Comparison) -> str:
    """Both score tables side by side: plugin by plugin, each node under each policy."""
    heads = [f"{policy}: {node}" for policy in (comparison.first, comparison.second) for node in moved.nodes]
    plugins = list(dict.fromkeys(plugin for scores in moved.scores for plugin in scores))
    rows = []
    for plugin in plugins:
        cells = [_score(scores, plugin, node) for scores in moved.scores for node in moved.nodes]
        kind = "most" if moved.verdict.startswith(f"{plugin}:") or plugin == "total" else ""
        if not kind and cells[0] == cells[1] and cells[2] == cells[3]:
            kind = "dim"
        row = "".join(f"<td class=n>{escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr class="{kind}"><td>{escape(plugin)}</td>{row}</tr>')
    head = "".join(f"<th class=n>{escape(text)}</th>" for text in heads)
    rejected = "".join(
        f"<div>{escape(policy)} rejects {escape(node)}: {escape(why)}</div>"
        for policy, found in zip((comparison.first, comparison.second), moved.rejections, strict=True)
        for node, why in found.items()
    )
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rejected}"


def _score(scores: Mapping[str, Mapping[str, int]], plugin: str, node: str) -> str:
    value = scores.get(plugin, {}).get(node)
    return "–" if value is None else str(value)


def _details(name: str, run: RunResult) -> Iterator[str]:
    for title, found in (("why pods have no node at the end", reasons(run)), ("who was preempted", losers(run))):
        if found:
            yield f"<h2>{escape(name)}: {title}</h2>"
            yield table(("pods", ""), [(f"{count:,}", reason) for reason, count in found.items()])
    if run.spread:
        yield f"<h2>{escape(name)}: spread achieved against asked, at the end</h2>"
        worst = sorted(run.spread, key=lambda outcome: outcome.max_skew - outcome.skew)[:MOST_SPREADS]
        rows = [
            (f"{o.namespace} {o.selector}", o.topology_key, KINDS_OF_SPREAD[o.is_hard], f"{o.max_skew}", f"{o.skew}")
            for o in worst
        ]
        yield table(("pods", "over", "", "skew asked for, at most", "skew"), rows, numbers_from=3)
    for title, groups in (
        ("priority", waiting_by(run, lambda pod: str(pod.priority))),
        ("namespace", waiting_by(run, lambda pod: pod.namespace)),
    ):
        if len(groups) > 1:
            yield f"<h2>{escape(name)}: pending time by {title}</h2>"
            waiting = [
                (group, f"{t.pods:,}", *(number(value, "s") for value in (t.p50, t.p90, t.p99, t.worst)))
                for group, t in groups.items()
            ]
            yield table((title, "pods", "median", "p90", "p99", "worst"), waiting, numbers_from=1)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], *, numbers_from: int = 99, escaped: bool = False) -> str:
    """`escaped`: cells are HTML already."""

    def cells(tag: str, values: Iterable[str], *, raw: bool) -> str:
        return "".join(
            f"<{tag}{' class=n' if number >= numbers_from else ''}>{value if raw else escape(value)}</{tag}>"
            for number, value in enumerate(values)
        )

    body = "".join(f"<tr>{cells('td', row, raw=escaped)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', heads, raw=False)}</tr></thead><tbody>{body}</tbody></table>"
