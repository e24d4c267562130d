"""Reports of what-ifs for people: the outcome first, then each pod that is concerned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesched.apps.plan.capacity import CapacityReport
from kubesched.apps.plan.each import EachReport
from kubesched.apps.plan.node_mix import CheapestMix, NodesNeeded
from kubesched.apps.plan.reporting import counted, limited, some
from kubesched.apps.plan.what_if import Placed, Preempted, Spread, Waiting, WhatIfReport

MOST_LINES = 20
"""Of each part. Programs get everything."""


def what_if_text(report: WhatIfReport) -> str:
    return "\n".join(_what_if(report))


def each_text(report: EachReport) -> str:
    return "\n".join(_each(report))


def capacity_text(report: CapacityReport) -> str:
    return "\n".join(_capacity(report))


def needed_text(report: NodesNeeded) -> str:
    if not report.nodes:
        return f"{counted(report.sets, 'set')} fit already"
    fewer = f"with {report.nodes - 1}, {report.one_fewer:,} fit"
    return f"{counted(report.sets, 'set')} fit with {counted(report.nodes, 'node')} more like {report.like}; {fewer}"


def cheapest_text(report: CheapestMix) -> str:
    if not report.nodes:
        return f"{counted(report.sets, 'set')} fit already"
    rows = [f"  {one.nodes} × {one.shape} at {one.price:g} each" for one in report.nodes]
    bound = f"nothing below {report.lower_bound:g} would do (gap {report.gap:.1%}; {report.method})"
    return "\n".join((f"{counted(report.sets, 'set')} fit with nodes for {report.cost:g}; {bound}", *rows))


def _capacity(report: CapacityReport) -> Iterator[str]:
    yield from report.supposing
    each = ", ".join(f"{number:,} {name}" for name, number in report.by_workload.items())
    several = f" in {counted(report.sets, 'set')} ({each})" if len(report.by_workload) > 1 else ""
    more = "" if report.stopped_by else ", as many as were asked for"
    yield f"{counted(report.pods, 'pod')} fit{several}{more}"
    if not report.stopped_by:
        return
    yield f"the next one, {report.stopped_by}, does not: {report.why}"
    rows: list[tuple[str, ...]] = [("nodes", "", "takes", "limit", "left")]
    for group in report.groups:
        left = ", ".join(f"{amount} {name}" for name, amount in group.free.items())
        rows.append((str(group.nodes), group.name, str(group.pods), group.limit, left))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)).rstrip()


def _what_if(report: WhatIfReport) -> Iterator[str]:
    yield from report.hypotheses
    yield _summary(report)
    yield from _part("move", map(_move, report.moved))
    yield from _part("start", map(_start, report.started))
    yield from _part("wait", map(_wait, report.waiting))
    yield from _part(
        "are preempted",
        (f"{one.pod} on {one.node}, by {one.by}{tie_text(one)}" for one in report.preempted),
    )
    yield from _part("are gone for good", (f"{one.pod} on {one.before}: {one.why}" for one in report.gone))
    yield from _part("cannot be evicted", (f"{one.pod} on {one.node}: {one.why}" for one in report.blocked))
    yield from _part("spread", map(_spread, report.spread))
    timed = sum(one.by_timing for one in report.moved)
    if timed:
        yield f"{counted(timed, 'placement')} may differ with the order in which successors come"
    chosen = sum(bool(one.tied) for one in (*report.moved, *report.started))
    after = sum(one.after_tie for one in (*report.moved, *report.started))
    if chosen:
        yield f"{counted(chosen, 'placement')} left to chance; {after} decided after one may differ with it"


def _summary(report: WhatIfReport) -> str:
    still = len(report.waiting) - len(report.newly_waiting)
    parts = [
        (len(report.moved), "move"),
        (len(report.started), "start"),
        (len(report.newly_waiting), "wait"),
        (still, "still wait"),
        (len(report.preempted), "are preempted"),
        (len(report.gone), "are gone for good"),
        (len(report.blocked), "cannot be evicted"),
    ]
    said = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    return f"pods: {said}" if said else "no pod is concerned"


def _part(title: str, lines: Iterable[str]) -> Iterator[str]:
    shown = limited((f"  {line}" for line in lines), MOST_LINES)
    if shown:
        yield f"{title}:"
        yield from shown


def _move(one: Placed) -> str:
    return f"{one.pod}: {one.before} → {one.node}{tie_text(one)}"


def _start(one: Placed) -> str:
    return f"{one.pod}: {one.node}{tie_text(one)}"


def _wait(one: Waiting) -> str:
    was = f" (was on {one.before})" if one.before else ""
    still = "" if one.is_new else " still"
    return f"{one.pod}{was}{still}: {one.why}"


def tie_text(one: Placed | Preempted) -> str:
    """Which nodes would have been as good; empty if none."""
    others = [name for name in one.tied if name != one.node]
    left_out = one.tied_nodes - len(one.tied)
    return f", or as good {some(others)}{f' of {one.tied_nodes}' if left_out else ''}" if others else ""


def _spread(one: Spread) -> str:
    places = sorted({*one.before, *one.after})
    changed = [place for place in places if one.before.get(place, 0) != one.after.get(place, 0)]
    shown = places if len(places) <= MOST_LINES else changed
    counts = ", ".join(f"{place} {one.before.get(place, 0)} → {one.after.get(place, 0)}" for place in shown)
    return f"{one.workload} by {one.over}: {counts}"


def _each(report: EachReport) -> Iterator[str]:
    losses = report.losses
    harmless = sum(not any(loss.damage[:3]) for loss in losses)
    plural = f"{report.each}s" if report.each in ("node", "zone") else f"values of {report.each}"
    yield f"losing one of {len(losses):,} {plural}: {harmless:,} would cost nothing but restarts"
    header = (report.each, "nodes", "wait", "gone", "preempted", "move", "the first that waits")
    rows: list[tuple[str, ...]] = [header]
    for loss in losses[:MOST_LINES]:
        first = f"{loss.waiting[0].pod}: {loss.waiting[0].why}" if loss.waiting else ""
        rows.append((loss.what, str(loss.nodes), *map(str, loss.damage), first))
    widths = [max(len(row[column]) for row in rows) for column in range(len(header) - 1)]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True)),
        ]
        yield "  ".join((*cells, row[-1])).rstrip()
    if len(losses) > MOST_LINES:
        yield f"… and {len(losses) - MOST_LINES} more that do no more damage (-o json has all)"
