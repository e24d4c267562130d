"""One decision as data: the way of a pod through the extension points, and every plugin's answer for every node.

It has the same form whether it is evaluated now, was taken earlier and is remembered, or is found again in a trace;
`basis` says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubesched.apps.explain.explanation import Explanation, PreemptionView
from kubesched.apps.explain.text import NOTHING_HELPS
from kubesched.apps.page.decision_memory import Taken, TakenAnswers
from kubesched.apps.page.filter_table import all_answers, groups, table
from kubesched.apps.simulate.simulation import Simulation
from kubesched.clock import Clock
from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod, PodDisruptionBudget
from kubesched.objects.pod_resources import from_units, incoming_requests
from kubesched.objects.selectors import compile_label_selector
from kubesched.scheduler.framework import Status

MOST_CANDIDATES: Final = 50
NOW: Final = "now"
TAKEN: Final = "taken"
RECORDED: Final = "recorded"


def decision_of(simulation: Simulation, key: str, stopwatch: Clock) -> dict[str, Any]:
    """What the scheduler would decide about a pod now. InvalidObjectError if there is no such pod."""
    explanation = simulation.explain(key, seek_remedies=False, stopwatch=stopwatch)
    pod = simulation.get(Pod, key)
    assert pod is not None, "it was explained"
    weights = simulation.weights()[pod.spec.scheduler_name]
    every, first = explanation.answers, explanation.filters
    answers = all_answers(every, first) if every is not None else _alone(first)
    return {
        "basis": {"kind": NOW},
        "pod": pod_facts(pod),
        "node": explanation.node,
        "outcome": _outcome(explanation),
        "message": explanation.error or explanation.fit_error or _message(explanation.pre_enqueue),
        "steps": list(_steps(explanation)),
        "groups": groups(answers),
        "filters": table(every) if every is not None else None,
        "nodes": len(explanation.filters),
        "scores": _scores(explanation, weights),
        "best": list(explanation.best_nodes),
        "preemption": _preemption(explanation.preemption, simulation),
    }


def taken_decision(pod: Pod, taken: Taken, answers: TakenAnswers) -> dict[str, Any]:
    """A decision that was taken, with what it was made from at that time."""
    first: dict[str, Status] = {}
    for said in answers.rejections:
        for position, row in enumerate(said.rows.tolist()):
            first[answers.names[row]] = said.verdict.status(position, said.plugin)
    scores, best = _taken_scores(answers), [taken.node]
    if scores["nodes"]:
        best = [
            name for name, total in zip(scores["nodes"], scores["totals"], strict=True) if total == scores["totals"][0]
        ]
    return {
        "basis": {"kind": TAKEN, "at": taken.at},
        "taken": taken_facts(taken),
        "pod": pod_facts(pod),
        "node": taken.node,
        "outcome": "fits",
        "message": "",
        "steps": list(_taken_steps(taken, scores["totals"], len(best))),
        "groups": groups(_alone(first)),
        "filters": None,
        "nodes": sum(map(bool, answers.names)),
        "scores": scores,
        "best": sorted(best),
        "preemption": None,
    }


def taken_facts(taken: Taken) -> dict[str, Any]:
    return {
        "at": taken.at,
        "attempt": taken.attempt,
        "waited": taken.waited,
        "feasible": taken.feasible,
        "evaluated": taken.evaluated,
        "seconds": taken.filtering + taken.scoring,
        "binding": max(0.0, taken.bound_at - taken.at) if taken.bound_at else None,
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


def _alone(first: Mapping[str, Status]) -> dict[str, list[Status]]:
    return {name: [] if status.is_success else [status] for name, status in first.items()}


def _outcome(explanation: Explanation) -> str:
    if explanation.pre_enqueue is not None:
        return "gated"
    if explanation.error:
        return "error"
    return "fits" if explanation.best_nodes else "nowhere"


def _message(status: Status | None) -> str:
    return f"{status.message} ({status.plugin})" if status is not None else ""


# ---- the way through the extension points --------------------------------------------------------------------------


def _steps(explanation: Explanation) -> Iterator[dict[str, Any]]:
    """The extension points that the pod comes to, and how each ends."""
    seconds = explanation.answers.seconds if explanation.answers is not None else {}
    for point, result, says in _points(explanation):
        plugins = {**seconds.get("PreScore", {}), **seconds.get(point, {})} if point == "Score" else seconds.get(point)
        step: dict[str, Any] = {"point": point, "result": result, "says": says}
        if plugins:
            step["seconds"] = sum(plugins.values())
            step["plugins"] = dict(sorted(plugins.items(), key=lambda item: -item[1]))
        elif point == "PostFilter" and explanation.preemption is not None:
            step["seconds"] = explanation.preemption.seconds
        yield step


def _points(explanation: Explanation) -> Iterator[tuple[str, str, str]]:
    if explanation.pre_enqueue is not None:
        yield "PreEnqueue", "no", _message(explanation.pre_enqueue)
        return
    yield "PreEnqueue", "yes", "it may be queued"
    if explanation.error:
        yield "Filter", "no", explanation.error
        return
    if explanation.pre_filter is not None:
        yield "PreFilter", "no", _message(explanation.pre_filter)
    else:
        narrowed = explanation.node_names
        yield (
            "PreFilter",
            "yes",
            f"{len(narrowed)} nodes are left to look at" if narrowed is not None else "any node may do",
        )
        fitting = sum(status.is_success for status in explanation.filters.values())
        yield "Filter", "yes" if fitting else "no", f"{fitting} of {len(explanation.filters)} nodes take it"
    if explanation.preemption is not None:
        nominated = explanation.preemption.nominated_node
        says = f"it would preempt pods on {nominated}" if nominated else explanation.preemption.status.message
        yield "PostFilter", "yes" if nominated else "no", says
    if explanation.best_nodes:
        top = explanation.scores[explanation.best_nodes[0]].total
        yield "Score", "yes", _best(top, len(explanation.best_nodes))


def _taken_steps(taken: Taken, totals: list[int], best: int) -> Iterator[dict[str, Any]]:
    attempt = "tried once" if taken.attempt <= 1 else f"attempt {taken.attempt}"
    yield {"point": "Queue", "result": "yes", "says": attempt, "seconds": taken.waited}
    says = f"{taken.feasible} of {taken.evaluated} nodes took it"
    yield {"point": "Filter", "result": "yes", "says": says, "seconds": taken.filtering}
    if totals:
        yield {"point": "Score", "result": "yes", "says": _best(totals[0], best), "seconds": taken.scoring}
    if taken.bound_at:
        says = f"on {taken.node}"
        yield {"point": "Bind", "result": "yes", "says": says, "seconds": max(0.0, taken.bound_at - taken.at)}


def _best(top: int, nodes: int) -> str:
    return f"the best has {top} points" if nodes == 1 else f"{nodes} nodes are best with {top} points each"


# ---- scores ----------------------------------------------------------------------------------------------------------


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
                "raw": [score.raw[plugin] for _, score in ranked],
                "scores": [score.normalized[plugin] for _, score in ranked],
            }
            for plugin in plugins
        ],
    }


def _taken_scores(answers: TakenAnswers) -> dict[str, Any]:
    if (scores := answers.scores) is None:
        return {"nodes": [], "totals": [], "plugins": []}
    names, totals = [answers.names[row] for row in scores.rows.tolist()], scores.totals.tolist()
    order = sorted(range(len(names)), key=lambda place: (-totals[place], names[place]))

    def column(values: Any) -> list[int]:
        numbers = values.tolist()
        return [numbers[place] for place in order]

    return {
        "nodes": [names[place] for place in order],
        "totals": [totals[place] for place in order],
        "plugins": [
            {
                "name": plugin,
                "weight": answers.weights.get(plugin, 1),
                "raw": column(scores.raw[plugin]),
                "scores": column(values),
            }
            for plugin, values in scores.by_plugin.items()
        ],
    }


# ---- preemption ------------------------------------------------------------------------------------------------------


def _preemption(preemption: PreemptionView | None, simulation: Simulation) -> dict[str, Any] | None:
    if preemption is None:
        return None
    best = {one.node for one in preemption.acceptable}
    candidates = sorted(preemption.candidates, key=lambda one: (one.node not in best, one.pdb_violations, one.node))
    budgets = _Budgets(simulation)
    return {
        "nominated": preemption.nominated_node,
        "message": preemption.status.message,
        "count": len(candidates),
        "candidates": [
            {
                "node": one.node,
                "victims": [budgets.victim(key) for key in one.victims],
                "pdbViolations": one.pdb_violations,
                "best": one.node in best,
            }
            for one in candidates[:MOST_CANDIDATES]
        ],
    }


class _Budgets:
    """Which disruption budgets protect a pod."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._budgets = []
        for budget in simulation.objects(PodDisruptionBudget):
            try:
                self._budgets.append((budget, compile_label_selector(budget.spec.selector)))
            except InvalidObjectError:
                continue  # the API server could not apply it either

    def victim(self, key: str) -> dict[str, Any]:
        pod = self._simulation.get(Pod, key)
        if pod is None:
            return {"key": key, "priority": 0, "budgets": []}
        return {
            "key": key,
            "priority": pod.priority,
            "budgets": [
                {"name": budget.metadata.name, "allowed": budget.status.disruptions_allowed}
                for budget, selector in self._budgets
                if budget.metadata.namespace == pod.metadata.namespace and selector.matches(pod.metadata.labels)
            ],
        }
