"""An explanation for people, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubesched.apps.explain.explanation import Explanation
from kubesched.scheduler.framework import Status
from kubesched.scheduler.plugins.registry import IN_TREE

MOST_NAMES: Final = 5
MOST_LINES: Final = 20
"""About nodes that fit, and about nodes that do not. Programs get everything."""

NOTHING_HELPS: Final = (
    "no single change of the pod would help, and neither would one more node like those of the cluster"
)


def as_text(explanation: Explanation) -> str:
    """A few lines: the outcome first, then each node with its reason or its scores."""
    return "\n".join(_lines(explanation))


def as_data(explanation: Explanation) -> dict[str, Any]:
    """The same for programs; what does not apply is left out."""
    data: dict[str, Any] = {"pod": explanation.pod}
    if explanation.node:
        data["node"] = explanation.node
    if explanation.pre_enqueue is not None:
        data["preEnqueue"] = _status(explanation.pre_enqueue)
    if explanation.error:
        data["error"] = explanation.error
    if explanation.pre_filter is not None:
        data["preFilter"] = _status(explanation.pre_filter)
    if explanation.filters:
        data["filter"] = {name: _status(status) for name, status in explanation.filters.items()}
    if explanation.scores:
        data["scores"] = {
            name: {"total": score.total, "plugins": dict(score.weighted)} for name, score in explanation.scores.items()
        }
        data["bestNodes"] = list(explanation.best_nodes)
    if explanation.fit_error:
        data["fitError"] = explanation.fit_error
    if (preemption := explanation.preemption) is not None:
        data["preemption"] = {
            "message": preemption.status.message,
            "nominatedNode": preemption.nominated_node,
            "candidates": [
                {"node": c.node, "victims": list(c.victims), "pdbViolations": c.pdb_violations}
                for c in preemption.candidates
            ],
        }
    if explanation.remedies:
        data["remedies"] = [
            {"changes": list(remedy.changes), "nodes": list(remedy.nodes)} for remedy in explanation.remedies
        ]
    if explanation.cluster_remedies:
        data["clusterRemedies"] = [
            {"change": other.says, "nodes": list(other.nodes)} for other in explanation.cluster_remedies
        ]
    return data


def _status(status: Status) -> dict[str, Any]:
    return {"code": str(status.code), "plugin": status.plugin, "reasons": list(status.reasons)}


def _lines(explanation: Explanation) -> Iterator[str]:
    pod, fits_nowhere = explanation.pod, "fits nowhere"
    if explanation.node:
        pod += f" is on {explanation.node}; if scheduled now, it"
        fits_nowhere = "would fit nowhere"
    if explanation.pre_enqueue is not None:
        yield f"{pod} waits outside the queue: {_said(explanation.pre_enqueue)}"
        yield from _help(explanation)
        return
    if explanation.error:
        yield f"{pod} cannot be decided: {explanation.error}"
        yield from _help(explanation)
        return
    if explanation.best_nodes:
        several = "one of " if len(explanation.best_nodes) > 1 else ""
        yield f"{pod} would go to {several}{_some(explanation.best_nodes)}"
    else:
        yield f"{pod} {fits_nowhere}: {explanation.fit_error}"
    ranked = sorted(explanation.scores.items(), key=lambda item: (-item[1].total, item[0]))
    for name, score in ranked[:MOST_LINES]:
        parts = ", ".join(f"{plugin} {points}" for plugin, points in score.weighted.items() if points)
        yield f"  {name}: {score.total} ({parts})"
    if len(ranked) > MOST_LINES:
        yield f"  and {len(ranked) - MOST_LINES} nodes more, none of them better"
    yield from _refusals({name: status for name, status in explanation.filters.items() if not status.is_success})
    if explanation.preemption is not None and explanation.preemption.nominated_node:
        yield "  preemption would help:"
        for candidate in explanation.preemption.acceptable:
            yield f"    {candidate.node}: evict {', '.join(candidate.victims)}"
    yield from _help(explanation)


def _help(explanation: Explanation) -> Iterator[str]:
    """What would let the pod run, or that nothing would that is known here."""
    if explanation.remedies:
        yield "  it would fit if it"
        for remedy in explanation.remedies:
            yield f"    {' and '.join(remedy.changes)}: {_some(remedy.nodes)}"
    if explanation.cluster_remedies:
        yield "  this would help, too:" if explanation.remedies else "  this would help:"
        for other in explanation.cluster_remedies:
            yield f"    {other.says}"
    if explanation.nothing_helps:
        yield f"  {NOTHING_HELPS}"
        statuses = [status for status in (explanation.pre_filter, *explanation.filters.values()) if status is not None]
        own = {status.plugin for status in statuses if status.is_rejection and status.plugin} - IN_TREE.keys()
        if own:
            yield f"  what {', '.join(sorted(own))} would accept, only that plugin knows (pod_changes)"


def _refusals(statuses: Mapping[str, Status]) -> Iterator[str]:
    """A line per node; where that would be too many, one per reason, that of most nodes first."""
    if len(statuses) <= MOST_LINES:
        for name in sorted(statuses):
            yield f"  {name}: no, {_said(statuses[name])}"
        return
    by_reason: dict[str, list[str]] = {}
    for name in sorted(statuses):
        by_reason.setdefault(_said(statuses[name]), []).append(name)
    for reason, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        yield f"  {_some(names)}: no, {reason}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"


def _said(status: Status) -> str:
    return f"{status.message} ({status.plugin})" if status.plugin else status.message
