"""An explanation for people, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubesched.assembly.explain import Explanation
from kubesched.framework import Status

MOST_NAMES: Final = 5


def as_text(explanation: Explanation) -> str:
    """A few lines: the outcome first, then each node with its reason or its scores."""
    return "\n".join(_lines(explanation))


def as_data(explanation: Explanation) -> dict[str, Any]:
    """The same for programs; what does not apply is left out."""
    data: dict[str, Any] = {"pod": explanation.pod}
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
    return data


def _status(status: Status) -> dict[str, Any]:
    return {"code": str(status.code), "plugin": status.plugin, "reasons": list(status.reasons)}


def _lines(explanation: Explanation) -> Iterator[str]:
    if explanation.pre_enqueue is not None:
        yield f"{explanation.pod} waits outside the queue: {_said(explanation.pre_enqueue)}"
        return
    if explanation.error:
        yield f"{explanation.pod} cannot be decided: {explanation.error}"
        return
    if explanation.best_nodes:
        best = ", ".join(explanation.best_nodes)
        yield f"{explanation.pod} goes to {best}"
    else:
        yield f"{explanation.pod} fits nowhere: {explanation.fit_error}"
    ranked = sorted(explanation.scores.items(), key=lambda item: (-item[1].total, item[0]))
    for name, score in ranked:
        parts = ", ".join(f"{plugin} {points}" for plugin, points in score.weighted.items() if points)
        yield f"  {name}: {score.total} ({parts})"
    for name, status in sorted(explanation.filters.items()):
        if not status.is_success:
            yield f"  {name}: no, {_said(status)}"
    if explanation.preemption is not None and explanation.preemption.nominated_node:
        yield "  preemption would help:"
        for candidate in explanation.preemption.acceptable:
            yield f"    {candidate.node}: evict {', '.join(candidate.victims)}"
    if explanation.remedies:
        yield "  it would fit if it"
        for remedy in explanation.remedies:
            yield f"    {' and '.join(remedy.changes)}: {_some(remedy.nodes)}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"


def _said(status: Status) -> str:
    return f"{status.message} ({status.plugin})" if status.plugin else status.message
