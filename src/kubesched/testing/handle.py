"""A stand-in for the scheduler: what a plugin's factory gets in tests, and how to ask one plugin about a cluster."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from kubesched.clock import Clock, VirtualClock
from kubesched.config.feature_gates import FeatureGates
from kubesched.objects import Namespace, Node, Pod
from kubesched.scheduler.columns import Booleans, ClusterTables, NodeView, PodInfo
from kubesched.scheduler.framework import (
    CycleState,
    FilterPlugin,
    Handle,
    ObjectStores,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
    WaitingPod,
)
from kubesched.scheduler.framework.fetches import Fetches
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.scheduler.state.pod_groups import PodGroups
from kubesched.testing.recording import RecordingApi, RecordingRecorder


@dataclass(frozen=True, kw_only=True)
class FakeHandle(Handle):
    """A handle over objects given by the test; it records what plugins write."""

    cluster: ClusterTables = field(default_factory=ClusterTables)
    objects: ObjectStores = field(default_factory=ObjectStores)
    clock: Clock = field(default_factory=VirtualClock)
    random: Random = field(default_factory=lambda: Random(1))  # noqa: S311 - a seeded generator, not a secret
    gates: FeatureGates = field(default_factory=FeatureGates)
    api: RecordingApi = field(default_factory=RecordingApi)
    recorder: RecordingRecorder = field(default_factory=RecordingRecorder)
    nominator: PodNominator = field(default_factory=PodNominator)
    pod_groups: PodGroups = field(default_factory=PodGroups)
    fetches: Fetches = field(default_factory=lambda: Fetches(VirtualClock()))
    profile_name: str = "default-scheduler"
    waiting: dict[str, WaitingPod] = field(default_factory=dict)
    activated: list[PodInfo] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    """What plugins started beside the scheduling; a test awaits it."""
    filters: list[FilterPlugin] = field(default_factory=list)
    """The filters that `fits_with_nominated` asks; nominated pods are not considered."""

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return self.waiting.values()

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self.waiting.get(uid)

    def cancel_binding(self, uid: str, reason: str) -> bool:
        return False

    def activate(self, pods: Iterable[PodInfo]) -> None:
        self.activated.extend(pods)

    def start_task(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    def fits_with_nominated(
        self, state: CycleState, pod: PodInfo, nodes: NodeView, *, passed_before: bool = False
    ) -> Booleans:
        fits = nodes.exists
        for plugin in self.filters:
            fits = fits & plugin.filter_nodes(state, pod.template, nodes).fitting
        return fits

    def reasons_with_nominated(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Counter[str]:
        reasons = Counter[str]()
        for plugin in self.filters:
            reasons += plugin.filter_nodes(state, pod.template, nodes).histogram()
        return reasons

    def load(self, *objects: Any) -> FakeHandle:
        """Put nodes, placed pods, namespaces and any other object where plugins look for them."""
        for obj in objects:
            match obj:
                case Node():
                    self.cluster.set_node(obj)
                case Pod() if obj.spec.node_name:
                    self.cluster.place(self.cluster.templates.info(obj), obj.spec.node_name)
                case Namespace():
                    self.cluster.set_namespace(obj)
                case _:
                    pass
            self.objects.of(type(obj)).set(obj)
        return self


@dataclass(frozen=True)
class Answer:
    """What one plugin said about one pod, by node name. None where an extension point was not reached."""

    pre_filter: Status | None = None
    node_names: frozenset[str] | None = None
    statuses: dict[str, Status] = field(default_factory=dict)
    scores: dict[str, int] | None = None
    """Normalised, over the nodes that fit; None if PreScore said Skip."""


def ask(plugin: Plugin, pod: Pod, cluster: ClusterTables, *, wanted_node: str = "") -> Answer:
    """Run a plugin's PreFilter, Filter, PreScore and Score for a pod, as the engine would, without any reuse."""
    info = cluster.templates.info(pod, wanted_node=wanted_node)
    state, nodes = CycleState(info), cluster.view()
    pre_filter, names = _pre_filter(plugin, state, info, nodes)
    if pre_filter is not None and not (pre_filter.is_success or pre_filter.is_skip):
        return Answer(pre_filter=pre_filter)
    statuses = {nodes.name(i): Status() for i in range(len(nodes)) if nodes.exists[i]}
    feasible = nodes.exists
    if isinstance(plugin, FilterPlugin) and not (pre_filter and pre_filter.is_skip):
        verdict = plugin.filter_nodes(state, info.template, nodes)
        statuses = {nodes.name(i): verdict.status(i, plugin.name) for i in range(len(nodes)) if nodes.exists[i]}
        feasible = feasible & verdict.fitting
    scores = _scores(plugin, state, info, nodes.at(np.flatnonzero(feasible)))
    return Answer(pre_filter, names, statuses, scores)


def _pre_filter(
    plugin: Plugin, state: CycleState, info: PodInfo, nodes: NodeView
) -> tuple[Status | None, frozenset[str] | None]:
    if not isinstance(plugin, PreFilterPlugin):
        return None, None
    answer = plugin.pre_filter(state, info, nodes)
    if isinstance(answer, Status):
        return answer, None
    result, status = answer
    return status, result.node_names


def _scores(plugin: Plugin, state: CycleState, info: PodInfo, nodes: NodeView) -> dict[str, int] | None:
    if not isinstance(plugin, ScorePlugin):
        return None
    if isinstance(plugin, PreScorePlugin) and not plugin.pre_score(state, info, nodes).is_success:
        return None
    raw = plugin.score_nodes(state, info.template, nodes)
    normalized = plugin.normalize_scores(state, info.template, raw)
    return {nodes.name(i): int(score) for i, score in enumerate(normalized)}
