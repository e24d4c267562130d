"""A scheduler with one plugin, to which steps happen, and which is asked with kept answers and from scratch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from kubesched.apps.plugin.random_steps import Vocabulary
from kubesched.apps.plugin.steps import Ask, PlacePod, Publish, RemoveNode, RemovePod, SetNode, SetObject, Step
from kubesched.apps.plugin.words_of import words_of
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, load_config
from kubesched.config.model import PluginConfig
from kubesched.errors import PluginError
from kubesched.objects import KIND_OF, Node, Pod, convert
from kubesched.scheduler.build import Dependencies, build_scheduler
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.engine import Evaluator, ProfilePlugins
from kubesched.scheduler.engine.scratch import evaluate
from kubesched.scheduler.framework import CycleState, FilterPlugin, Plugin, ScorePlugin

CONFIG: Final = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NAME}]
"""
SCHEDULER: Final = "default-scheduler"


class _NoEvents:
    def event(self, *args: object, **kwargs: object) -> None: ...


@dataclass(frozen=True)
class Answer:
    """What a plugin says about a pod: per node the reason against it (empty: it fits), and its score."""

    reasons: Mapping[str, str]
    scores: Mapping[str, int]

    def differences(self, other: Answer) -> list[tuple[str, str, str]]:
        """Node, what this answer says, and what the other one does."""
        names = sorted(self.reasons.keys() | other.reasons.keys())
        pairs = [(name, self._about(name), other._about(name)) for name in names]
        return [pair for pair in pairs if pair[1] != pair[2]]

    def _about(self, node: str) -> str:
        if node not in self.reasons:
            return "unknown"
        if self.reasons[node]:
            return f"rejected ({self.reasons[node]})"
        return f"score {self.scores[node]}" if node in self.scores else "fits"


class TrialCluster:
    """Made for one run of steps."""

    def __init__(self, plugin: type[Plugin], args: Any) -> None:
        """ConfigurationError if the plugin cannot be built."""
        config = load_config(CONFIG.replace("NAME", "NodeName"))
        profile = config.profiles[0]
        enabled = tuple(
            replace(one, name=plugin.name) if one.name == "NodeName" else one
            for one in profile.plugins.multi_point.enabled
        )
        multi_point = replace(profile.plugins.multi_point, enabled=enabled)
        profile = replace(
            profile,
            plugins=replace(profile.plugins, multi_point=multi_point),
            plugin_config=(*profile.plugin_config, PluginConfig(name=plugin.name, args=args)) if args else (),
        )
        dependencies = Dependencies(
            api=MemoryApi(),
            recorder=_NoEvents(),
            clock=VirtualClock(),
            random=Random(0),  # noqa: S311 - nothing is decided
            plugins={plugin.name: plugin},
        )
        self._assembled = build_scheduler(replace(config, profiles=(profile,)), FeatureGates(), dependencies)
        built = self._assembled.profiles[SCHEDULER]
        self.plugin = built.plugins[plugin.name]
        self._plugins = ProfilePlugins(
            pre_filters=built.pre_filters,
            filters=built.filters,
            pre_scores=built.pre_scores,
            scores=[(one, built.score_weights[one.name]) for one in built.scores],
        )
        self._kept = self._assembled.evaluators[SCHEDULER]
        self._cluster = self._assembled.cache.cluster

    def vocabulary(self, args: Any) -> Vocabulary:
        return Vocabulary(
            words=words_of(type(self.plugin), args),
            kinds=tuple(self._assembled.objects.watched),
            urls=tuple(fetched.url for fetched in self._assembled.fetches),
        )

    def happen(self, step: Step) -> None:
        """Let a step other than a question happen; one about what is not there changes nothing."""
        handlers, objects = self._assembled.handlers, self._assembled.objects
        match step:
            case SetNode():
                self._set(convert(step.manifest(), Node))
            case RemoveNode():
                if (node := objects.of(Node).get(step.name)) is not None:
                    handlers.delete(node)
            case PlacePod():
                self._remove_pod(step.name)
                handlers.add(convert(step.pod.manifest(step.name, step.node), Pod))
            case RemovePod():
                self._remove_pod(step.name)
            case SetObject():
                struct = next(kind for kind in objects.watched if KIND_OF[kind].name == step.kind)
                metadata = {"name": step.name, "namespace": step.namespace}
                content = {name: value for name, value in step.content.items() if value is not None}
                self._set(convert({"metadata": metadata, **content}, struct))
            case Publish():
                self._assembled.fetches.publish(step.url, step.content)

    def _set(self, obj: Any) -> None:
        old = self._assembled.objects.of(type(obj)).get(obj.metadata.name, obj.metadata.namespace)
        if old is None:
            self._assembled.handlers.add(obj)
        else:
            self._assembled.handlers.update(old, obj)

    def _remove_pod(self, name: str) -> None:
        for namespace in ("default", "other"):
            if (pod := self._assembled.objects.of(Pod).get(name, namespace)) is not None:
                self._assembled.handlers.delete(pod)

    def info(self, ask: Ask) -> PodInfo:
        return self._cluster.templates.info(convert(ask.pod.manifest(ask.name), Pod))

    def kept(self, ask: Ask) -> Answer:
        """As the scheduler would decide: with what was answered before, where that still holds. PluginError."""
        return self._by(self._kept, self.info(ask))

    def _by(self, evaluator: Evaluator, info: PodInfo) -> Answer:
        fit = evaluator.filter(info)
        statuses = fit.diagnosis().statuses
        names = self._names()
        fitting = set(fit.names())
        reasons = {name: "" if name in fitting else statuses.get(name, statuses.absent).message for name in names}
        scores: dict[str, int] = {}
        if fitting and self._plugins.scores:
            evaluator.rank(fit)
            found = evaluator.score(fit)
            own = found.by_plugin.get(self.plugin.name)
            if own is not None:
                rows = self._cluster.nodes.names
                scores = {rows[row]: int(score) for row, score in zip(found.rows.tolist(), own, strict=True)}
        return Answer(reasons, scores)

    def fresh(self, ask: Ask) -> Answer:
        """Every question asked anew. PluginError."""
        info, rows = self.info(ask), self._cluster.nodes.names
        pre_filtered, rejections, scores = evaluate(self._plugins, info, self._cluster)
        reasons = dict.fromkeys(self._names(), "")
        if not pre_filtered.status.is_success:
            return Answer(dict.fromkeys(reasons, pre_filtered.status.message), {})
        if pre_filtered.node_names is not None:
            named = f"node(s) didn't satisfy plugin(s) [{' '.join(pre_filtered.limiting)}]"
            reasons |= {name: named for name in reasons if name not in pre_filtered.node_names}
        for said in rejections:
            for position, row in enumerate(said.rows.tolist()):
                reasons[rows[row]] = said.verdict.status(position, said.plugin).message
        own = scores.by_plugin.get(self.plugin.name) if scores is not None else None
        if scores is None or own is None:
            return Answer(reasons, {})
        return Answer(reasons, {rows[row]: int(score) for row, score in zip(scores.rows.tolist(), own, strict=True)})

    def one_by_one(self, ask: Ask) -> tuple[Answer, Answer]:
        """Filter and raw scores, asked about all nodes together and about each alone: they must not differ."""
        info, plugin = self.info(ask), self.plugin
        rows = [row for row, _ in self._cluster.nodes.existing()]
        state = CycleState(info)
        for pre_filter in self._plugins.pre_filters:
            pre_filter.pre_filter(state, info, self._cluster.view())
        together, alone = (
            [self._raw(plugin, state, info, np.array(part, dtype=np.intp)) for part in parts]
            for parts in ([rows], [[row] for row in rows])
        )
        return _united(together), _united(alone)

    def _raw(self, plugin: Plugin, state: CycleState, info: PodInfo, rows: np.ndarray[Any, Any]) -> Answer:
        nodes = self._cluster.view(rows)
        names = [nodes.name(position) for position in range(len(nodes))]
        reasons, scores = dict.fromkeys(names, ""), {}
        if isinstance(plugin, FilterPlugin):
            verdict = plugin.filter_nodes(state, info.template, nodes)
            reasons = {name: verdict.status(k, "").message for k, name in enumerate(names)}
            reasons = {name: reasons[name] if not verdict.fitting[k] else "" for k, name in enumerate(names)}
        if isinstance(plugin, ScorePlugin) and not self._plugins.pre_scores:
            raw = plugin.score_nodes(state, info.template, nodes)
            scores = {name: int(raw[k]) for k, name in enumerate(names)}
        return Answer(reasons, scores)

    def _names(self) -> list[str]:
        return [node.metadata.name for _, node in self._cluster.nodes.existing()]


def _united(answers: list[Answer]) -> Answer:
    reasons = {name: reason for answer in answers for name, reason in answer.reasons.items()}
    return Answer(reasons, {name: score for answer in answers for name, score in answer.scores.items()})


def guarded(ask: Callable[[], Answer]) -> Answer | str:
    """The answer, or what the plugin raised."""
    try:
        return ask()
    except PluginError as error:
        return str(error)
