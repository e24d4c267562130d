"""PreFilter: the look at the pod before any node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kubesched.errors import PluginFailedError
from kubesched.scheduler.columns import ClusterTables, NodeView, PodInfo
from kubesched.scheduler.engine.lineup import Lineup, ask_pre_filter
from kubesched.scheduler.framework import SUCCESS, Code, CycleState, PreFilterPlugin, PreFilterResult, Status

PreFilterAnswer = tuple[PreFilterResult, Status]


@dataclass(frozen=True, slots=True)
class PreFiltered:
    """What all PreFilter plugins said together. `status` rejects the pod on every node, if it is no success."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None
    limiting: tuple[str, ...] = ()
    """The plugins that limited the pod to `node_names`, sorted."""
    skipped: set[str] = field(default_factory=set)
    """Plugins whose Filter has nothing to say about this pod."""


class PassedPreFilters(NamedTuple):
    """What a template that no plugin rejected shares with others of its family, if plugins that see sums agree."""

    pre_filtered: PreFiltered
    by_sums: Mapping[str, PreFilterAnswer]
    """What these plugins said."""
    version: int
    """Of the answers of the family."""


class PreFilterAnswers:
    """The answers of some plugins, kept while their external version stays the same."""

    def __init__(self, plugins: Iterable[PreFilterPlugin]) -> None:
        self._plugins = {plugin.name: plugin for plugin in plugins}
        self.by_plugin: dict[str, PreFilterAnswer] = {}
        self.unsure: list[str] = []
        """Those that may say something else by now."""
        self.version = 0
        """Another one whenever an answer has become another."""

    def doubt(self, names: Collection[str]) -> None:
        """The external version of these plugins has changed."""
        self.unsure += [name for name in names if name in self.by_plugin]

    def settle(self, lasting: CycleState, pod: PodInfo, cluster: ClusterTables) -> None:
        """Ask the unsure ones again."""
        before = {name: self.by_plugin.pop(name) for name in dict.fromkeys(self.unsure)}
        self.unsure.clear()
        nodes = cluster.view()
        answers = {name: ask_pre_filter(self._plugins[name], lasting, pod, nodes) for name in before}
        self.by_plugin |= answers
        self.version += answers != before

    def complete(self, lasting: CycleState, pod: PodInfo, cluster: ClusterTables) -> None:
        """Ask those that were not asked yet."""
        nodes = cluster.view()
        for name, plugin in self._plugins.items():
            if name not in self.by_plugin:
                self.by_plugin[name] = ask_pre_filter(plugin, lasting, pod, nodes)

    def take_over(self, answers: Mapping[str, PreFilterAnswer]) -> None:
        """Answers of all plugins, in which those that are kept here are looked up."""
        self.by_plugin = {name: answers[name] for name in self._plugins.keys() & answers.keys()}


def run_pre_filters(
    lineup: Lineup,
    states: Callable[[PreFilterPlugin], CycleState],
    pod: PodInfo,
    nodes: NodeView,
    known: Mapping[str, PreFilterAnswer],
) -> tuple[PreFiltered, dict[str, PreFilterAnswer]]:
    """Ask every plugin in order, except those whose answer is in `known`. Also returns each plugin's own answer.

    `states` gives the state that a plugin writes to: one that lasts, or that of this cycle only.
    A rejection that preemption cannot resolve ends the round; another one lets the rest run, since preemption needs
    their state (RunPreFilterPlugins).
    """
    answers: dict[str, PreFilterAnswer] = {}
    rejection = SUCCESS
    names: frozenset[str] | None = None
    limiting: set[str] = set()
    skipped: set[str] = set()
    for plugin in lineup.pre_filters:
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
