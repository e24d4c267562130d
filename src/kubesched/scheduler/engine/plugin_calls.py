"""The plugins of a profile that look at nodes, and the guarded, timed calling of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np

from kubesched.errors import PluginError, PluginFailedError
from kubesched.scheduler.columns import Booleans, Integers, NodeView, PodInfo
from kubesched.scheduler.framework import (
    ALL_NODES,
    MAX_SCORE,
    SUCCESS,
    CycleState,
    DependsOn,
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.stopwatch import timed_plugin


@dataclass(frozen=True, kw_only=True)
class ProfilePlugins:
    """A profile's plugins from PreFilter to Score, in their order; scores come with their weights."""

    pre_filters: Sequence[PreFilterPlugin]
    filters: Sequence[FilterPlugin]
    pre_scores: Sequence[PreScorePlugin]
    scores: Sequence[tuple[ScorePlugin, int]]

    @cached_property
    def by_name(self) -> dict[str, Plugin]:
        """All of them."""
        scores = [plugin for plugin, _ in self.scores]
        return {plugin.name: plugin for plugin in (*self.pre_filters, *self.filters, *self.pre_scores, *scores)}

    @cached_property
    def versioned(self) -> list[Plugin]:
        """Those whose answers depend on something outside the nodes that may change (`external_version`)."""
        plugins = self.by_name.values()
        return [plugin for plugin in plugins if type(plugin).external_version is not Plugin.external_version]

    @cached_property
    def by_node_alone(self) -> frozenset[str]:
        """The plugins whose answers about a node have nothing to do with pods, there or elsewhere."""
        versioned = {plugin.name for plugin in self.versioned}
        return frozenset(
            plugin.name
            for plugin in self.by_name.values()
            if plugin.depends_on is DependsOn.NODE and plugin.name not in versioned and not dependencies_vary(plugin)
        )


def dependencies_vary(plugin: Plugin) -> bool:
    """Whether what a plugin depends on varies from template to template."""
    if type(plugin).depends_on_for is not Plugin.depends_on_for:
        return True
    return isinstance(plugin, ScorePlugin) and type(plugin).score_depends_on_for is not ScorePlugin.score_depends_on_for


PreFilterAnswer: TypeAlias = tuple[PreFilterResult, Status]
PASSED: Final[PreFilterAnswer] = (ALL_NODES, SUCCESS)


class AskedRows:
    """How many answers about single nodes plugins were asked for: a count that only grows, for a metric."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


def ask_pre_filter(plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterAnswer:
    try:
        answer = timed_plugin(state.stopwatch, plugin.name, "PreFilter", plugin.pre_filter, state, pod, nodes)
    except Exception as error:
        raise _broken(plugin.name, "PreFilter", error) from error
    if isinstance(answer, Status):
        return ALL_NODES, answer
    match answer:
        case (PreFilterResult(), Status()):
            return answer
        case (None, Status() as status):
            return ALL_NODES, status
    problem = f"must answer with a Status, or with a PreFilterResult and a Status, not {answer!r}"
    raise PluginError(plugin.name, "PreFilter", problem)


def ask_filter(
    plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: NodeView, among: Booleans | None = None
) -> Verdict:
    """`among` are the nodes that no plugin before has rejected: kube-scheduler asks about no others, so it does not
    matter if the plugin fails there."""
    verdict = try_filter(plugin, state, pod, nodes)
    for position, status in verdict.special.items():
        if not status.is_rejection and (among is None or among[position]):
            raise PluginFailedError(plugin.name, "Filter", f'running "{plugin.name}" filter plugin: {status.message}')
    return verdict


def try_filter(plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Verdict:
    """The plugin may have failed on some of the nodes."""
    try:
        verdict: object = timed_plugin(
            state.stopwatch, plugin.name, "Filter", plugin.filter_nodes, state, pod.template, nodes
        )
    except Exception as error:
        raise _broken(plugin.name, "Filter", error) from error
    if not isinstance(verdict, Verdict) or np.shape(verdict.bits) != (len(nodes),):
        raise PluginError(plugin.name, "Filter", f"must answer with a Verdict for {len(nodes)} nodes, not {verdict!r}")
    return verdict


def ask_pre_score(plugin: PreScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
    try:
        status = timed_plugin(state.stopwatch, plugin.name, "PreScore", plugin.pre_score, state, pod, nodes)
    except Exception as error:
        raise _broken(plugin.name, "PreScore", error) from error
    if not isinstance(status, Status):
        raise PluginError(plugin.name, "PreScore", f"must answer with a Status, not {status!r}")
    if not (status.is_success or status.is_skip):
        raise PluginFailedError(plugin.name, "PreScore", f'running PreScore plugin "{plugin.name}": {status.message}')
    return status


def ask_score(plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers:
    try:
        scores = timed_plugin(state.stopwatch, plugin.name, "Score", plugin.score_nodes, state, pod.template, nodes)
    except Exception as error:
        raise _broken(plugin.name, "Score", error) from error
    if not _are_integers(scores, len(nodes)):
        raise PluginError(plugin.name, "Score", f"must answer with {len(nodes)} integer scores, not {scores!r}")
    return scores


def ask_normalize(plugin: ScorePlugin, state: CycleState, pod: PodInfo, scores: Integers) -> Integers:
    try:
        normalized = plugin.normalize_scores(state, pod.template, scores)
    except Exception as error:
        raise _broken(plugin.name, "NormalizeScore", error) from error
    if not _are_integers(normalized, len(scores)):
        problem = f"must answer with {len(scores)} integer scores, not {normalized!r}"
        raise PluginError(plugin.name, "NormalizeScore", problem)
    return normalized


def normalized(plugin: ScorePlugin, state: CycleState, pod: PodInfo, raw: Integers) -> Integers:
    """Final scores of feasible nodes, before the weight."""
    scores = ask_normalize(plugin, state, pod, raw) if plugin.normalizes() else raw
    check_scores(plugin, scores)
    return scores


def check_scores(plugin: ScorePlugin, scores: Integers) -> None:
    """A final score outside 0..100 is the plugin's mistake."""
    if not are_valid(scores):
        lowest, highest = int(scores.min()), int(scores.max())
        wrong = lowest if lowest < 0 else highest
        problem = f"returns an invalid score {wrong}, it should be in the range of [0, {MAX_SCORE}] after normalizing"
        raise PluginError(plugin.name, "Score", problem)


def are_valid(scores: Integers) -> bool:
    if len(scores) == 1:  # as for every pod, where a plugin looks at the pods of the node that the last one went to
        return bool(0 <= scores.item() <= MAX_SCORE)
    # Seen as unsigned, a negative number is a very large one.
    unsigned = scores.astype(np.int64, copy=False).view(np.uint64)
    return bool(np.maximum.reduce(unsigned, initial=0) <= MAX_SCORE)


def _are_integers(scores: object, length: int) -> bool:
    return isinstance(scores, np.ndarray) and scores.shape == (length,) and scores.dtype.kind in "iu"


def _broken(plugin: str, point: str, error: Exception) -> PluginError:
    return error if isinstance(error, PluginError) else PluginError.raised(plugin, point, error)
