"""A rollout for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched.apps.plan.reporting import counted, limited, some
from kubesched.apps.plan.rollout import LongWait, NodeUpgrade, RolloutReport

MOST_LINES = 20


def rollout_text(report: RolloutReport, others: Sequence[RolloutReport] = ()) -> str:
    return "\n".join(_lines(report, others))


def _lines(report: RolloutReport, others: Sequence[RolloutReport]) -> Iterator[str]:
    nodes = counted(len(report.nodes) + report.not_reached, "node")
    if report.finishes:
        yield f"{nodes} upgraded in {duration(report.seconds)}, {counted(report.evictions, 'eviction')}"
    else:
        done = sum(one.done_at is not None for one in report.nodes)
        yield f"stuck after {duration(report.seconds)}: {done} of {nodes} upgraded"
    for stuck in report.stuck:
        yield f"  {stuck.node}: {stuck.pod + ': ' if stuck.pod else ''}{stuck.why}"
    if report.lost:
        yield f"gone for good: {some(report.lost, 10)}"
    yield from limited((f"  {_upgrade(one)}" for one in report.nodes), MOST_LINES)
    if report.waits:
        yield "pods that wait:"
        yield from limited((f"  {_wait(one)}" for one in report.waits), MOST_LINES)
    if report.by_timing:
        yield "evictions may differ with the order in which successors come"
    if report.ties:
        yield f"{counted(report.ties, 'landing')} left to chance: with others, the rest may go otherwise"
    if len(others) > 1:
        yield f"by {report.order}; the other orders:"
        for other in others:
            if other is not report:
                yield f"  {other.order}: {_outcome(other)}"


def duration(seconds: float) -> str:
    """1h 5m 20s."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{rest}s" if rest or not seconds else ""]
    return " ".join(part for part in parts if part) or "0s"


def _upgrade(one: NodeUpgrade) -> str:
    empty = f"empty at {duration(one.empty_at)}" if one.empty_at is not None else "never empty"
    done = f", upgraded at {duration(one.done_at)}" if one.done_at is not None else ""
    return f"{one.node}: drained from {duration(one.drains_from)}, {counted(one.evictions, 'eviction')}, {empty}{done}"


def _wait(one: LongWait) -> str:
    how_long = f"for {duration(one.until - one.since)}" if one.until is not None else "to the end"
    return f"{one.pod} from {duration(one.since)} {how_long}: {one.why}"


def _outcome(one: RolloutReport) -> str:
    if not one.finishes:
        return f"stuck after {duration(one.seconds)}"
    waited = f", pods wait {duration(one.pod_seconds_waited)} in sum" if one.waits else ""
    return f"{duration(one.seconds)}, {counted(one.evictions, 'eviction')}{waited}"
