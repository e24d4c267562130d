"""One decision as data: the way of a pod through the extension points, nodes grouped by equal answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubesched.apps.explain.explanation import Explanation, PreemptionView
from kubesched.apps.explain.text import NOTHING_HELPS
from kubesched.apps.simulate.simulation import Simulation
from kubesched.objects import Pod
from kubesched.objects.pod_resources import from_units, incoming_requests
from kubesched.scheduler.framework import Status

MOST_CANDIDATES: Final = 50


def decision_of(simulation: Simulation, key: str) -> dict[str, Any]:
    """What the scheduler would decide about a pod now. InvalidObjectError if there is no such pod."""
    explanation = simulation.explain(key, seek_remedies=False)
    pod = simulation.get(Pod, key)
    assert pod is not None, "it was explained"
    weights = simulation.weights()[pod.spec.scheduler_name]
    return {
        "pod": pod_facts(pod),
        "node": explanation.node,
        "outcome": _outcome(explanation),
        "message": explanation.error or explanation.fit_error or _message(explanation.pre_enqueue),
        "steps": list(_steps(explanation)),
        "groups": _groups(explanation),
        "fits": len(explanation.scores),
        "nodes": len(explanation.filters),
        "scores": _scores(explanation, weights),
        "best": list(explanation.best_nodes),
        "preemption": _preemption(explanation.preemption),
    }


def help_for(simulation: Simulation, key: str) -> dict[str, Any]:
    """What would let the pod fit that fits nowhere now."""
    explanation = simulation.explain(key)
    return {
        "pod": [{"changes": list(one.changes), "nodes": list(one.nodes)} for one in explanation.remedies],
        "cluster": [
            {"says": one.says, "nodes": list(one.nodes), "kind": one.kind, "target": one.target}
            for one in explanation.cluster_remedies
        ],
        "nothing": NOTHING_HELPS if explanation.nothing_helps else "",
    }


def pod_facts(pod: Pod) -> dict[str, Any]:
    """What a person recognises a pod by."""
    owner = pod.metadata.controller_of
    return {
        "key": pod.key,
        "phase": pod.status.phase,
        "priority": pod.priority,
        "profile": pod.spec.scheduler_name,
        "owner": f"{owner.kind}/{owner.name}" if owner is not None else "",
        "created": pod.metadata.creation_timestamp,
        "requests": {name: str(from_units(name, amount)) for name, amount in incoming_requests(pod).items() if amount},
        "labels": dict(pod.metadata.labels),
        "nominated": pod.status.nominated_node_name,
    }


def _outcome(explanation: Explanation) -> str:
    if explanation.pre_enqueue is not None:
        return "gated"
    if explanation.error:
        return "error"
    return "fits" if explanation.best_nodes else "nowhere"


def _message(status: Status | None) -> str:
    return f"{status.message} ({status.plugin})" if status is not None else ""


def _steps(explanation: Explanation) -> Iterator[dict[str, str]]:
    """The extension points that the pod comes to, and how each ends."""
    if explanation.pre_enqueue is not None:
        yield {"point": "PreEnqueue", "result": "no", "says": _message(explanation.pre_enqueue)}
        return
    yield {"point": "PreEnqueue", "result": "yes", "says": "it may be queued"}
    if explanation.error:
        yield {"point": "Filter", "result": "no", "says": explanation.error}
        return
    if explanation.pre_filter is not None:
        yield {"point": "PreFilter", "result": "no", "says": _message(explanation.pre_filter)}
    else:
        narrowed = explanation.node_names
        says = f"{len(narrowed)} nodes are left to look at" if narrowed is not None else "any node may do"
        yield {"point": "PreFilter", "result": "yes", "says": says}
        fitting = sum(status.is_success for status in explanation.filters.values())
        result = "yes" if fitting else "no"
        yield {"point": "Filter", "result": result, "says": f"{fitting} of {len(explanation.filters)} nodes take it"}
    if explanation.preemption is not None:
        nominated = explanation.preemption.nominated_node
        says = f"it would preempt pods on {nominated}" if nominated else explanation.preemption.status.message
        yield {"point": "PostFilter", "result": "yes" if nominated else "no", "says": says}
    if explanation.best_nodes:
        top = explanation.scores[explanation.best_nodes[0]].total
        says = f"the best has {top} points"
        if len(explanation.best_nodes) > 1:
            says = f"{len(explanation.best_nodes)} nodes are best with {top} points each"
        yield {"point": "Score", "result": "yes", "says": says}


def _groups(explanation: Explanation) -> list[dict[str, Any]]:
    """Nodes that were rejected for equal reasons by the same plugin, the largest group first."""
    groups: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
    for name, status in explanation.filters.items():
        if status.is_success:
            continue
        found = groups.setdefault(
            (status.plugin, status.reasons),
            {"plugin": status.plugin, "reason": status.message, "code": str(status.code), "nodes": []},
        )
        found["nodes"].append(name)
    for found in groups.values():
        found["nodes"].sort()
    return sorted(groups.values(), key=lambda group: (-len(group["nodes"]), group["plugin"]))


def _scores(explanation: Explanation, weights: dict[str, int]) -> dict[str, Any]:
    """In columns: the nodes, the best first, with their totals, and each plugin's scores before its weight."""
    ranked = sorted(explanation.scores.items(), key=lambda item: (-item[1].total, item[0]))
    plugins = list(ranked[0][1].normalized) if ranked else []
    return {
        "nodes": [name for name, _ in ranked],
        "totals": [score.total for _, score in ranked],
        "plugins": [
            {
                "name": plugin,
                "weight": weights.get(plugin, 1),
                "scores": [score.normalized[plugin] for _, score in ranked],
            }
            for plugin in plugins
        ],
    }


def _preemption(preemption: PreemptionView | None) -> dict[str, Any] | None:
    if preemption is None:
        return None
    best = {one.node for one in preemption.acceptable}
    candidates = sorted(preemption.candidates, key=lambda one: (one.node not in best, one.pdb_violations, one.node))
    return {
        "nominated": preemption.nominated_node,
        "message": preemption.status.message,
        "count": len(candidates),
        "candidates": [
            {
                "node": one.node,
                "victims": list(one.victims),
                "pdbViolations": one.pdb_violations,
                "best": one.node in best,
            }
            for one in candidates[:MOST_CANDIDATES]
        ],
    }
