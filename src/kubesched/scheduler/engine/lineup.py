"""The plugins that look at nodes, in the order of their profile, and the guarded calling of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np

from kubesched.errors import PluginError, PluginFailedError
from kubesched.scheduler.columns import Booleans, Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    ALL_NODES,
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


class Reaches(NamedTuple):
    """What a plugin's PreFilter and Filter depend on, and its PreScore and Score. One instance per combination."""

    depends_on: DependsOn
    score_depends_on: DependsOn


_REACHES: Final = {
    depends_on: {score_depends_on: Reaches(depends_on, score_depends_on) for score_depends_on in DependsOn}
    for depends_on in DependsOn
}
_REACHES_NORMALIZED: Final = {
    depends_on: by_score_reach | {DependsOn.NODE_RESOURCES: by_score_reach[DependsOn.NODE_AND_PODS]}
    for depends_on, by_score_reach in _REACHES.items()
}
"""A normalised score must notice when it ceases to be the same everywhere: it is not remembered by sums."""
BY_SUMS: Final = _REACHES[DependsOn.NODE_RESOURCES][DependsOn.NODE_RESOURCES]
IN_EVERY_CYCLE: Final = _REACHES[DependsOn.ANYTHING][DependsOn.ANYTHING]


class Based(NamedTuple):
    """A plugin whose answers rest on something that may change, with its place among the lineup's `with_basis`."""

    number: int
    external_version: Callable[[PodTemplate], Hashable]
    plugin: Plugin


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
        return [
            plugin for plugin in self.plugins.values() if type(plugin).external_version is not Plugin.external_version
        ]

    @cached_property
    def by_node_alone(self) -> frozenset[str]:
        """The plugins whose answers about a node have nothing to do with pods, there or elsewhere."""
        with_basis = {plugin.name for plugin in self.with_basis}
        return frozenset(
            plugin.name
            for plugin, reaches in zip(self.plugins.values(), self.fixed_reaches, strict=True)
            if reaches.depends_on is DependsOn.NODE and plugin.name not in with_basis and not _looks_at_template(plugin)
        )

    def based(self, numbers: tuple[int, ...]) -> Sequence[Based]:
        """Those of `with_basis` at these places: one list for all templates whose answers rest on the same."""
        known = self._based.get(numbers)
        if known is None:
            plugins = self.with_basis
            known = self._based[numbers] = [Based(k, plugins[k].external_version, plugins[k]) for k in numbers]
        return known

    @cached_property
    def _based(self) -> dict[tuple[int, ...], Sequence[Based]]:
        return {}

    def with_other_basis(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> dict[str, Hashable]:
        """The plugins whose external version differs, each with its old one."""
        if old == new:
            return {}
        return {p.name: before for p, before, now in zip(self.with_basis, old, new, strict=True) if before != now}

    @cached_property
    def fixed_reaches(self) -> list[Reaches]:
        """Of all of them, in order; of those in `asked_for_reaches` it does not say anything."""
        return [_fixed_reaches(plugin) for plugin in self.plugins.values()]

    @cached_property
    def asked_for_reaches(self) -> dict[int, Callable[[PodTemplate], Reaches]]:
        """The reaches of those that look at the template for these, by their number."""
        return {k: _reaches_of(p) for k, p in enumerate(self.plugins.values()) if _looks_at_template(p)}

    @cached_property
    def signatures(self) -> list[Callable[[PodTemplate], Hashable]]:
        return [plugin.signature for plugin in self.plugins.values()]

    def division(self, reaches: tuple[Reaches, ...]) -> Division:
        """One and the same for equal reaches."""
        division = self._divisions.get(reaches)
        if division is None:
            division = self._divisions[reaches] = Division(reaches)
        return division

    @cached_property
    def _divisions(self) -> dict[tuple[Reaches, ...], Division]:
        return {}


class Division:
    """What plugins with these reaches look at of a template, divided: what a family has in common, and what not."""

    __slots__ = ("common", "is_cyclic", "reaches", "sums")

    def __init__(self, reaches: tuple[Reaches, ...]) -> None:
        self.reaches = reaches
        """In the order of the lineup's `plugins`."""
        self.sums = _picked([number for number, its in enumerate(reaches) if its is BY_SUMS])
        """Of all signatures, those that a family has not in common."""
        self.common = _picked(
            [number for number, its in enumerate(reaches) if its is not BY_SUMS and its is not IN_EVERY_CYCLE]
        )
        """Those that it has."""
        self.is_cyclic = IN_EVERY_CYCLE in reaches
        """Some plugin is asked in every cycle: its signature does not matter."""


def _picked(numbers: Sequence[int]) -> Callable[[Sequence[Hashable]], Hashable]:
    """Picks the entries at these places."""
    return itemgetter(*numbers) if numbers else lambda entries: ()


def _looks_at_template(plugin: Plugin) -> bool:
    """Whether it does so for its reaches."""
    if type(plugin).depends_on_for is not Plugin.depends_on_for:
        return True
    return isinstance(plugin, ScorePlugin) and type(plugin).score_depends_on_for is not ScorePlugin.score_depends_on_for


def _fixed_reaches(plugin: Plugin) -> Reaches:
    score_depends_on = plugin.score_depends_on if isinstance(plugin, ScorePlugin) else None
    return _reaches(plugin)[plugin.depends_on][score_depends_on or plugin.depends_on]


def _reaches_of(plugin: Plugin) -> Callable[[PodTemplate], Reaches]:
    known = _reaches(plugin)
    if isinstance(plugin, ScorePlugin):
        return lambda template: known[plugin.depends_on_for(template)][plugin.score_depends_on_for(template)]
    return lambda template: known[depends_on := plugin.depends_on_for(template)][depends_on]


def _reaches(plugin: Plugin) -> Mapping[DependsOn, Mapping[DependsOn, Reaches]]:
    return _REACHES_NORMALIZED if isinstance(plugin, ScorePlugin) and plugin.normalizes() else _REACHES


def ask_pre_filter(
    plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, nodes: NodeView
) -> tuple[PreFilterResult, Status]:
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


def _are_integers(scores: object, length: int) -> bool:
    return isinstance(scores, np.ndarray) and scores.shape == (length,) and scores.dtype.kind in "iu"


def _broken(plugin: str, point: str, error: Exception) -> PluginError:
    return error if isinstance(error, PluginError) else PluginError.raised(plugin, point, error)
