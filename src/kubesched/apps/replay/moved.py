"""Why two configurations place a pod differently: what each said of both nodes at the moment when it decided."""

from __future__ import annotations

from kubesched.apps.explain.explanation import Explanation
from kubesched.reports.report import MovedPod


def explain_move(pod: str, nodes: tuple[str, str], first: Explanation, second: Explanation) -> MovedPod:
    """From the decisions of both policies, each taken on its own cluster as it was then."""
    return MovedPod(
        pod=pod,
        nodes=list(nodes),
        verdict=_verdict(nodes, first, second),
        scores=[_scores(nodes, explanation) for explanation in (first, second)],
        rejections=[_rejections(nodes, explanation) for explanation in (first, second)],
    )


def _verdict(nodes: tuple[str, str], first: Explanation, second: Explanation) -> str:
    """The first of these that holds: a rejection, a tie, the plugin whose opinion of the two nodes changed most."""
    ours, theirs = nodes
    for explanation, policy, node in ((first, "the first", theirs), (second, "the second", ours)):
        status = explanation.filters.get(node)
        if status is None:
            return f"{node} was not there when {policy} decided"
        if not status.is_success:
            return f"{node} was rejected by {status.plugin or 'a plugin'} when {policy} decided: {status.message}"
    if theirs in first.best_nodes and ours in second.best_nodes:
        return "a tie: both nodes were best for both, and chance decided"
    margins = {name: _margin(name, nodes, first) - _margin(name, nodes, second) for name in _plugins(first, second)}
    if not margins:
        return "no plugin scores"
    plugin = max(margins, key=lambda name: (margins[name], name))
    before, after = _margin(plugin, nodes, first), _margin(plugin, nodes, second)
    return f"{plugin}: {ours} over {theirs} by {before:+d} points for the first, by {after:+d} for the second"


def _margin(plugin: str, nodes: tuple[str, str], explanation: Explanation) -> int:
    """By how many points the plugin prefers the first of the nodes."""
    known = [explanation.scores.get(node) for node in nodes]
    ours, theirs = (score.weighted.get(plugin, 0) if score is not None else 0 for score in known)
    return ours - theirs


def _plugins(*explanations: Explanation) -> list[str]:
    return sorted({name for e in explanations for score in e.scores.values() for name in score.weighted})


def _scores(nodes: tuple[str, str], explanation: Explanation) -> dict[str, dict[str, int]]:
    known = [node for node in nodes if node in explanation.scores]
    table = {
        plugin: {node: explanation.scores[node].weighted.get(plugin, 0) for node in known}
        for plugin in _plugins(explanation)
    }
    return {**table, "total": {node: explanation.scores[node].total for node in known}}


def _rejections(nodes: tuple[str, str], explanation: Explanation) -> dict[str, str]:
    statuses = {node: explanation.filters.get(node) for node in nodes}
    return {node: status.message for node, status in statuses.items() if status is not None and not status.is_success}
