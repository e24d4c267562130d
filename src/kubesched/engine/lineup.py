"""The plugins that look at nodes, in the order of their profile, and the guarded calling of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ParamSpec, TypeVar

import numpy as np

from kubesched.columns import Booleans, Integers, NodeView, PodInfo, PodTemplate
from kubesched.errors import PluginError, PluginFailedError
from kubesched.framework import (
    ALL_NODES,
    CycleState,
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Reach,
    ScorePlugin,
    Status,
    Verdict,
)

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Lineup:
    """A profile's plugins from PreFilter to Score; scores come with their weights."""

    pre_filters: Sequence[PreFilterPlugin]
    filters: Sequence[FilterPlugin]
    pre_scores: Sequence[PreScorePlugin]
    scores: Sequence[tuple[ScorePlugin, int]]

    @cached_property
    def plugins(self) -> dict[str, Plugin]:
        """All of them, by name."""
        scores = [plugin for plugin, _ in self.scores]
        return {plugin.name: plugin for plugin in (*self.pre_filters, *self.filters, *self.pre_scores, *scores)}

    @cached_property
    def with_basis(self) -> list[Plugin]:
        return [plugin for plugin in self.plugins.values() if type(plugin).basis is not Plugin.basis]

    def with_other_basis(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> dict[str, Hashable]:
        """The plugins whose basis differs, each with its old one."""
        if old == new:
            return {}
        return {p.name: before for p, before, now in zip(self.with_basis, old, new, strict=True) if before != now}

    def reaches_of(self, plugin: Plugin, template: PodTemplate) -> tuple[Reach, Reach]:
        """The reach of PreFilter and Filter, and that of PreScore and Score."""
        reach = plugin.reach_of(template)
        if not isinstance(plugin, ScorePlugin):
            return reach, reach
        return reach, _score_reach(plugin, plugin.score_reach_of(template))

    @cached_property
    def fixed_reaches(self) -> dict[str, tuple[Reach, Reach]]:
        """As `reaches_of`, for those plugins that do not look at the template for it."""
        return {
            plugin.name: (plugin.reach, _score_reach(plugin, getattr(plugin, "score_reach", None) or plugin.reach))
            for plugin in self.plugins.values()
            if type(plugin).reach_of is Plugin.reach_of
            and (not isinstance(plugin, ScorePlugin) or type(plugin).score_reach_of is ScorePlugin.score_reach_of)
        }


def _score_reach(plugin: Plugin, reach: Reach) -> Reach:
    """A normalised score must notice when it ceases to be the same everywhere: it is not remembered by sums."""
    return Reach.ROW if reach is Reach.SUMS and isinstance(plugin, ScorePlugin) and plugin.normalizes() else reach


def ask_pre_filter(
    plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, nodes: NodeView
) -> tuple[PreFilterResult, Status]:
    try:
        answer = _timed(state, plugin.name, "PreFilter", plugin.pre_filter, state, pod, nodes)
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
        verdict: object = _timed(state, plugin.name, "Filter", plugin.filter_nodes, state, pod.template, nodes)
    except Exception as error:
        raise _broken(plugin.name, "Filter", error) from error
    if not isinstance(verdict, Verdict) or np.shape(verdict.bits) != (len(nodes),):
        raise PluginError(plugin.name, "Filter", f"must answer with a Verdict for {len(nodes)} nodes, not {verdict!r}")
    return verdict


def ask_pre_score(plugin: PreScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
    try:
        status = _timed(state, plugin.name, "PreScore", plugin.pre_score, state, pod, nodes)
    except Exception as error:
        raise _broken(plugin.name, "PreScore", error) from error
    if not isinstance(status, Status):
        raise PluginError(plugin.name, "PreScore", f"must answer with a Status, not {status!r}")
    if not (status.is_success or status.is_skip):
        raise PluginFailedError(plugin.name, "PreScore", f'running PreScore plugin "{plugin.name}": {status.message}')
    return status


def ask_score(plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: NodeView) -> Integers:
    try:
        scores = _timed(state, plugin.name, "Score", plugin.score_nodes, state, pod.template, nodes)
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


def _are_integers(scores: object, length: int) -> bool:
    return isinstance(scores, np.ndarray) and scores.shape == (length,) and scores.dtype.kind in "iu"


def _timed(state: CycleState, plugin: str, point: str, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    stopwatch = state.stopwatch
    return call(*args, **kwargs) if stopwatch is None else stopwatch.plugin(plugin, point, call, *args, **kwargs)


def _broken(plugin: str, point: str, error: Exception) -> PluginError:
    return error if isinstance(error, PluginError) else PluginError.raised(plugin, point, error)
