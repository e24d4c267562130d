"""Evaluation from scratch: every plugin is asked about every node. Read this first.

    PreFilter    look at the pod once; a plugin may reject it, limit it to some nodes, or skip its Filter
    Filter       the nodes that every plugin takes are feasible; the first plugin that rejects a node speaks for it
    PreScore     look at the feasible nodes once; a plugin may skip its Score
    Score        raw scores, normalised to 0..100, times the plugin's weight, added up

`evaluate` is the whole of it, and what the rest of the engine must equal: kept answers are the answers to these very
questions, remembered (tests/property/test_incremental_evaluation.py compares). The steps are used for what is not worth
keeping: a pod that is limited to a few nodes, a node with nominated pods on it, a preemption's dry run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kubesched.errors import PluginFailedError
from kubesched.scheduler.columns import Booleans, ClusterTables, Integers, NodeView, PodInfo, Positions
from kubesched.scheduler.engine.plugin_calls import (
    PreFilterAnswer,
    ProfilePlugins,
    ask_filter,
    ask_pre_filter,
    ask_pre_score,
    ask_score,
    normalized,
)
from kubesched.scheduler.framework import SUCCESS, Code, CycleState, FilterPlugin, PreFilterPlugin, Status, Verdict


@dataclass(frozen=True, slots=True)
class PreFiltered:
    """What all PreFilter plugins said together. `status` rejects the pod on every node, if it is no success."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None
    limiting: tuple[str, ...] = ()
    """The plugins that limited the pod to `node_names`, sorted."""
    skipped: set[str] = field(default_factory=set)
    """Plugins whose Filter has nothing to say about this pod."""


@dataclass(frozen=True, slots=True, eq=False)
class Rejection:
    """What a plugin said in this cycle about some rows."""

    plugin: str
    rows: Positions
    verdict: Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of some rows: each plugin's, after normalisation and before its weight, and the weighted totals.

    `raw` are those before normalisation.
    """

    rows: Positions
    by_plugin: dict[str, Integers]
    totals: Integers
    raw: dict[str, Integers]


def evaluate(
    plugins: ProfilePlugins, pod: PodInfo, cluster: ClusterTables
) -> tuple[PreFiltered, list[Rejection], Scores | None]:
    """One pod against all nodes, without nominated pods; no scores if no node is feasible."""
    state, nodes = CycleState(pod), cluster.view()
    pre_filtered, _ = run_pre_filters(plugins, lambda plugin: state, pod, nodes, {})
    if not pre_filtered.status.is_success:
        return pre_filtered, [], None
    allowed, feasible = pre_filtered.node_names, nodes.exists.copy()
    if allowed is not None:
        feasible &= np.array([nodes.name(k) in allowed for k in range(len(nodes))], dtype=np.bool_)
    filters = [plugin for plugin in plugins.filters if plugin.name not in pre_filtered.skipped]
    rejections: list[Rejection] = []
    for plugin, verdict in run_filters(filters, state, pod, nodes, feasible):
        rejected = np.flatnonzero(feasible & ~verdict.fitting)
        rejections.append(Rejection(plugin.name, rejected, verdict.at(rejected)))
        feasible[rejected] = False
    rows = np.flatnonzero(feasible)
    return pre_filtered, rejections, run_scores(plugins, state, pod, cluster.view(rows)) if len(rows) else None


def run_pre_filters(
    plugins: ProfilePlugins,
    states: Callable[[PreFilterPlugin], CycleState],
    pod: PodInfo,
    nodes: NodeView,
    known: Mapping[str, PreFilterAnswer],
) -> tuple[PreFiltered, dict[str, PreFilterAnswer]]:
    """Ask every plugin in order, except those whose answer is in `known`. Also returns each plugin's own answer.

    `states` gives the state that a plugin writes to: one that outlives the cycle, or that of this cycle only.
    A rejection that preemption cannot resolve ends the round; another one lets the rest run, since preemption needs
    their state (RunPreFilterPlugins).
    """
    answers: dict[str, PreFilterAnswer] = {}
    rejection = SUCCESS
    names: frozenset[str] | None = None
    limiting: set[str] = set()
    skipped: set[str] = set()
    for plugin in plugins.pre_filters:
        answer = known.get(plugin.name) or ask_pre_filter(plugin, states(plugin), pod, nodes)
        answers[plugin.name] = answer
        result, status = answer
        if status.is_skip:
            skipped.add(plugin.name)
            continue
        if not status.is_success:
            rejection = status.by(plugin.name)
            if status.code is Code.UNSCHEDULABLE:
                continue
            if status.code is not Code.UNRESOLVABLE:
                problem = f'running PreFilter plugin "{plugin.name}": {status.message}'
                raise PluginFailedError(plugin.name, "PreFilter", problem) from status.error
            return PreFiltered(rejection, skipped=skipped), answers
        if result.node_names is not None:
            limiting.add(plugin.name)
            names = result.node_names if names is None else names & result.node_names
            if not names:
                return PreFiltered(_no_common_node(limiting), names, tuple(sorted(limiting)), skipped), answers
    return PreFiltered(rejection, names, tuple(sorted(limiting)), skipped), answers


def _no_common_node(limiting: set[str]) -> Status:
    names = sorted(limiting)
    if len(names) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {names[0]}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(names)}] simultaneously")


def run_filters(
    filters: Sequence[FilterPlugin], state: CycleState, pod: PodInfo, nodes: NodeView, open_nodes: Booleans
) -> Iterator[tuple[FilterPlugin, Verdict]]:
    """Ask one filter after the other about all nodes of a view, until no node is open.

    Nodes are open that no plugin has rejected so far. Where a node is not, it does not matter if a plugin fails.
    """
    open_nodes = open_nodes.copy()
    for plugin in filters:
        if not open_nodes.any():
            return
        verdict = ask_filter(plugin, state, pod, nodes, open_nodes)
        yield plugin, verdict
        open_nodes &= verdict.fitting


def run_scores(plugins: ProfilePlugins, state: CycleState, pod: PodInfo, nodes: NodeView) -> Scores:
    """Score the nodes of a view, all of which are feasible."""
    skipped = {plugin.name for plugin in plugins.pre_scores if ask_pre_score(plugin, state, pod, nodes).is_skip}
    state.skipped_scores |= skipped
    totals = np.full(len(nodes), no_score(plugins), dtype=np.int64)
    by_plugin: dict[str, Integers] = {}
    raw: dict[str, Integers] = {}
    for plugin, weight in plugins.scores:
        if plugin.name not in skipped:
            raw[plugin.name] = ask_score(plugin, state, pod, nodes)
            by_plugin[plugin.name] = normalized(plugin, state, pod, raw[plugin.name])
            totals += weight * by_plugin[plugin.name]
    return Scores(nodes.row_ids(), by_plugin, totals, raw)


def no_score(plugins: ProfilePlugins) -> int:
    """What every node has before any plugin adds to it: without score plugins every node gets 1 (prioritizeNodes)."""
    return 0 if plugins.scores else 1
