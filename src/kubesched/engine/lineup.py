"""The plugins that look at nodes, in the order of their profile, and the guarded calling of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, ParamSpec, TypeVar

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


class Reaches(NamedTuple):
    """The reach of a plugin's PreFilter and Filter, and that of its PreScore and Score. There is one of each kind."""

    reach: Reach
    score_reach: Reach


_REACHES: Final = {reach: {score_reach: Reaches(reach, score_reach) for score_reach in Reach} for reach in Reach}
BY_SUMS: Final = _REACHES[Reach.SUMS][Reach.SUMS]
IN_EVERY_CYCLE: Final = _REACHES[Reach.CYCLE][Reach.CYCLE]


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
    def number_of(self) -> dict[str, int]:
        """A plugin's place among `plugins`."""
        return {name: number for number, name in enumerate(self.plugins)}

    @cached_property
    def with_basis(self) -> list[Plugin]:
        return [plugin for plugin in self.plugins.values() if type(plugin).basis is not Plugin.basis]

    def with_other_basis(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> dict[str, Hashable]:
        """The plugins whose basis differs, each with its old one."""
        if old == new:
            return {}
        return {p.name: before for p, before, now in zip(self.with_basis, old, new, strict=True) if before != now}

    def reaches_of(self, plugin: Plugin, template: PodTemplate) -> Reaches:
        reach = plugin.reach_of(template)
        score_reach = plugin.score_reach_of(template) if isinstance(plugin, ScorePlugin) else reach
        return _reaches(plugin, reach, score_reach)

    @cached_property
    def with_reaches(self) -> list[tuple[Plugin, Reaches | None]]:
        """All of them, with their reaches if they don't look at the template for these."""
        return [(plugin, _fixed_reaches(plugin)) for plugin in self.plugins.values()]


def _fixed_reaches(plugin: Plugin) -> Reaches | None:
    if type(plugin).reach_of is not Plugin.reach_of:
        return None
    if isinstance(plugin, ScorePlugin):
        asks = type(plugin).score_reach_of is not ScorePlugin.score_reach_of
        return None if asks else _reaches(plugin, plugin.reach, plugin.score_reach or plugin.reach)
    return _reaches(plugin, plugin.reach, plugin.reach)


def _reaches(plugin: Plugin, reach: Reach, score_reach: Reach) -> Reaches:
    """A normalised score must notice when it ceases to be the same everywhere: it is not remembered by sums."""
    if score_reach is Reach.SUMS and isinstance(plugin, ScorePlugin) and plugin.normalizes():
        score_reach = Reach.ROW
    return _REACHES[reach][score_reach]


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
