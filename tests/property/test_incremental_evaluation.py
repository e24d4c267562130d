"""The engine's promise: whatever happened before, an evaluation equals one from scratch.

A long-lived `Evaluator` lives through random events. Beside it stands a plain list of what exists; whenever pods are
evaluated, a new cluster with new plugins is made from that list, every plugin is asked about every node, and both must
agree on everything: which nodes fit, every node's status, every plugin's scores, the totals, and the best nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from kubesched.config import FeatureGates, default_config
from kubesched.config.plugin_args import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ResourceSpec,
    ScoringStrategy,
)
from kubesched.objects import CSINode, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service, convert
from kubesched.objects.meta import ObjectMeta
from kubesched.scheduler.columns import Integers, NodeView, PodInfo, PodTemplate, WhatIf, pod_counts
from kubesched.scheduler.engine import Evaluator, ProfilePlugins
from kubesched.scheduler.engine.answers import layer
from kubesched.scheduler.engine.ranking import score_classes, totals
from kubesched.scheduler.engine.scratch import evaluate, run_pre_filters
from kubesched.scheduler.engine.sharing import evaluation_cache
from kubesched.scheduler.framework import (
    Code,
    CycleState,
    DependsOn,
    FilterPlugin,
    NodeInfo,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.plugins.registry import IN_TREE
from kubesched.scheduler.plugins.support.storage.csi_nodes import MIGRATED_PLUGINS
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.testing import make_device_class, make_devices_of, make_node, make_pod, make_resource_slice
from kubesched.testing.builders import HOSTNAME_LABEL, ZONE_LABEL
from kubesched.testing.handle import FakeHandle
from kubesched.testing.storage_builders import make_csi_node, make_pv, make_pvc

NODES = tuple(f"n{i}" for i in range(10))
CROWD = tuple(f"crowd{i}" for i in range(66))
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
    "VolumeRestrictions",
    "VolumeBinding",
    "VolumeZone",
    "NodeVolumeLimits",
    "DynamicResources",
)


def terms(kind: str, when: str, *, app: str, key: str, **more: Any) -> dict[str, Any]:
    """An (anti-)affinity to pods of an app."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}
    listed = {"weight": 7, "podAffinityTerm": term} if when == "preferred" else term
    return {kind: {f"{when}DuringSchedulingIgnoredDuringExecution": [listed]}}


def spread(when: str, key: str = ZONE_LABEL, **more: Any) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "web"}}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector, **more}]


def having(key: str, value: str) -> dict[str, Any]:
    """A selector of nodes with a label."""
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]}


def preferring(key: str, value: str) -> dict[str, Any]:
    weighted = [{"weight": 5, "preference": having(key, value)["nodeSelectorTerms"][0]}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


TEAM_Y = {"namespaceSelector": {"matchLabels": {"team": "y"}}}
WEB = {"labels": {"app": "web"}}
TEMPLATES: dict[str, dict[str, Any]] = {
    "plain": {},
    "small": {"cpu": "100m", "memory": "100Mi"},
    "large": {"cpu": "1", "memory": "1Gi", "priority": 10},
    "gpu": {"requests": {"example.com/gpu": 1}},
    "gpus": {"requests": {"example.com/gpu": 2, "cpu": "500m"}},
    "port": {"host_ports": [80]},
    "selecting": {"node_selector": {"disk": "ssd"}, "cpu": "100m"},
    "preferring": {"affinity": preferring("disk", "ssd"), "cpu": "100m"},
    "tolerant": {"tolerations": ["dedicated=a:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"]},
    "image": {"image": "registry/app:1"},
    "web": {**WEB, "cpu": "100m"},
    "near": {**WEB, "affinity": terms("podAffinity", "required", app="db", key=ZONE_LABEL)},
    "alone": {**WEB, "affinity": terms("podAntiAffinity", "required", app="web", key=HOSTNAME_LABEL)},
    "liking": {"affinity": terms("podAffinity", "preferred", app="web", key=ZONE_LABEL, **TEAM_Y)},
    "shunning": {"labels": {"app": "db"}, "affinity": terms("podAntiAffinity", "preferred", app="web", key=ZONE_LABEL)},
    "clinging": {**WEB, "affinity": terms("podAffinity", "preferred", app="web", key=HOSTNAME_LABEL), "cpu": "100m"},
    "fleeing": {**WEB, "affinity": terms("podAntiAffinity", "preferred", app="web", key=HOSTNAME_LABEL)},
    "db": {"labels": {"app": "db"}, "namespace": "other", "cpu": "100m"},
    "hermit": {
        "namespace": "other",
        "affinity": terms("podAntiAffinity", "required", app="web", key=ZONE_LABEL, **TEAM_Y),
    },
    "hard-spread": {**WEB, "spread": spread("DoNotSchedule")},
    "host-spread": {**WEB, "spread": spread("DoNotSchedule", HOSTNAME_LABEL, nodeTaintsPolicy="Honor"), "cpu": "100m"},
    "soft-spread": {**WEB, "spread": spread("ScheduleAnyway")},
    "served": {"labels": {"tier": "front"}},
    "like-plain": {"labels": {"job": "1"}, "namespace": "other"},
    "like-small": {"labels": {"job": "2"}, "cpu": "100m", "memory": "100Mi"},
    "disk-a": {"claims": ["a"]},
    "disk-b": {"claims": ["b"], "labels": {"job": "3"}},
    "disk-c": {"claims": ["c"]},
    "disks": {"claims": ["a", "b"]},
}
DISK_DRIVER = "csi.example.com"
EBS_DRIVER = "ebs.csi.aws.com"


# ---- plugins of other people ---------------------------------------------------------------------------------------


class Talkative(FilterPlugin):
    """Per node, kept, and with another reason for every node: more reasons than can be kept together."""

    name = "Talkative"
    depends_on = DependsOn.NODE

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unschedulable(f"no room on {node.name}") if "disk" not in node.labels else None


class Crowded(FilterPlugin):
    """Looks at the pods on a node."""

    name = "Crowded"
    depends_on = DependsOn.NODE_AND_PODS

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        webs = sum(other.metadata.labels.get("app") == "web" for other in node.pods)
        return Status.unresolvable("too many webs", "really") if webs > 2 else None


class Choosy(PreFilterPlugin, FilterPlugin):
    """Never kept: limits pods to nodes, and rejects by the pod's name."""

    name = "Choosy"

    def pre_filter(self, state: CycleState, pod: Any, nodes: NodeView) -> tuple[PreFilterResult, Status]:
        allowed = {"db": NODES[:6], "web": NODES[:9]}.get(pod.template.labels.get("app", ""))
        return PreFilterResult(None if allowed is None else frozenset(allowed)), Status()

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        wrong = [k for k in range(len(nodes)) if nodes.name(k).endswith(state.pod.pod.metadata.name[-1:])]
        return Verdict.of_statuses(nodes, dict.fromkeys(wrong, Status.unresolvable("bad luck")))


class FewPods(ScorePlugin):
    name = "FewPods"
    depends_on = DependsOn.NODE_RESOURCES

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        return np.maximum(0, 100 - 10 * nodes.pod_count)


class Relative(PreScorePlugin, ScorePlugin):
    """Kept raw scores, normalised over the feasible nodes."""

    name = "Relative"
    depends_on = DependsOn.NODE_RESOURCES

    def pre_score(self, state: CycleState, pod: Any, nodes: NodeView) -> Status:
        return Status()

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        return nodes.requested("cpu")

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return 100 * scores // max(1, int(scores.max()))


class Graded(Relative):
    """Its normalised scores are kept, too."""

    name = "Graded"
    normalizes_by_value = True


class LongNames(ScorePlugin):
    """Per node, never kept."""

    name = "LongNames"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return len(node.name) + len(node.pods)


GATES = FeatureGates()
PROFILE = default_config(GATES).profiles[0]
GPU = "example.com/gpu"
SCORED = tuple(ResourceSpec(name=name) for name in ("cpu", "memory", GPU))
ARGS: dict[str, Any] = {
    "NodeResourcesFit": NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated", resources=SCORED)),
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs(resources=SCORED),
}
DEVICES: dict[str, tuple[Any, ...]] = {
    "class": (make_device_class("gpu", extended_resource=GPU),),
    **{name: make_devices_of(name, 2 + k, taken=k) for k, name in enumerate(NODES[:4])},
    "fabric": (
        make_resource_slice("fabric", devices=["x"], spec={"allNodes": None, "nodeSelector": having("disk", "ssd")}),
    ),
}
"""What stands behind the resource, by what comes and goes together."""


def in_tree(handle: FakeHandle) -> ProfilePlugins:
    plugins: dict[str, Any] = {
        name: IN_TREE[name](ARGS.get(name) or PROFILE.args_of(name), handle) for name in (*FILTERS, *WEIGHTS)
    }
    filters = [plugins[name] for name in FILTERS]
    scores = [plugins[name] for name in WEIGHTS]
    return ProfilePlugins(
        pre_filters=[plugin for plugin in filters if isinstance(plugin, PreFilterPlugin)],
        filters=filters,
        pre_scores=[plugin for plugin in scores if isinstance(plugin, PreScorePlugin)],
        scores=[(plugin, WEIGHTS[plugin.name]) for plugin in scores],
    )


def out_of_tree(handle: FakeHandle) -> ProfilePlugins:
    choosy, relative = Choosy(), Relative()
    return ProfilePlugins(
        pre_filters=[choosy],
        filters=[Talkative(), choosy, Crowded()],
        pre_scores=[relative],
        scores=[(FewPods(), 2), (relative, 1), (LongNames(), 1)],
    )


def kept_only(handle: FakeHandle) -> ProfilePlugins:
    """Totals are kept, too: nothing is normalised, nothing asked in every cycle."""
    fit = in_tree(handle)
    resources = [item for item in fit.scores if not item[0].normalizes()]
    return ProfilePlugins(
        pre_filters=fit.pre_filters, filters=fit.filters, pre_scores=[], scores=[*resources, (FewPods(), 1)]
    )


def graded(handle: FakeHandle) -> ProfilePlugins:
    """Totals are kept with normalised scores in them."""
    fit, plugin = in_tree(handle), Graded()
    rest = [item for item in fit.scores if item[0].name != "PodTopologySpread"]
    return ProfilePlugins(
        pre_filters=fit.pre_filters,
        filters=fit.filters,
        pre_scores=[plugin, *(p for p in fit.pre_scores if p.name != "PodTopologySpread")],
        scores=[(plugin, 3), *rest],
    )


def nothing_kept(handle: FakeHandle) -> ProfilePlugins:
    choosy = Choosy()
    return ProfilePlugins(pre_filters=[choosy], filters=[choosy], pre_scores=[], scores=[(LongNames(), 1)])


def no_filters(handle: FakeHandle) -> ProfilePlugins:
    return ProfilePlugins(pre_filters=[], filters=[], pre_scores=[], scores=[(FewPods(), 1)])


# ---- the cluster as a list, and as an evaluator sees it ----------------------------------------------------------


@dataclass
class World:
    """What exists."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    nominated: dict[str, Pod] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    services: dict[str, Service] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    storage: dict[str, PersistentVolume | PersistentVolumeClaim | CSINode] = field(default_factory=dict)

    def fresh(self, profile: Callable[[FakeHandle], ProfilePlugins]) -> Side:
        side = Side(profile)
        side.handle.load(*self.namespaces.values(), *self.nodes.values(), *self.pods.values())
        side.handle.load(*self.services.values(), *self.storage.values())
        side.handle.load(*(obj for name in sorted(self.devices) for obj in DEVICES[name]))
        for pod in self.nominated.values():
            side.nominator.add(side.handle.cluster.templates.info(pod), None)
        return side


class Side:
    """A cluster with its plugins."""

    def __init__(self, profile: Callable[[FakeHandle], ProfilePlugins]) -> None:
        self.nominator = PodNominator()
        self.handle = FakeHandle(gates=GATES)
        self.cluster = self.handle.cluster
        self.profile = profile(self.handle)
        self.evaluator = Evaluator(self.profile, self.cluster, self.nominator, Random(7))

    def evaluate(self, pod: Pod, *, with_scores: bool) -> dict[str, Any]:
        """What the engine says."""
        fit = self.evaluator.filter(self.cluster.templates.info(pod))
        if not fit.pre_filtered.status.is_success:
            return {"pre_filter": fit.pre_filtered, "count": fit.count}
        diagnosis = fit.diagnosis()
        names = self.cluster.nodes.names
        seen: dict[str, Any] = {
            "pre_filter": fit.pre_filtered,
            "count": fit.count,
            "fitting": sorted(fit.names()),
            "statuses": dict(diagnosis.statuses),
            "reasons": diagnosis.statuses.histogram(),
            "rejecting": diagnosis.unschedulable_plugins,
            "hopeful": sorted(names[row] for row in diagnosis.statuses.rows_open_to_preemption(self.cluster)),
        }
        if fit.count:
            ranking = self.evaluator.rank(fit)
            totals = {names[row]: int(total) for row, total in zip(*ranking.totals(), strict=True)}
            assert totals[ranking.best()] == max(totals.values())
            seen["totals"] = totals
        if fit.count and with_scores:
            scores = self.evaluator.score(fit)
            for plugin, values in scores.by_plugin.items():
                seen[plugin] = {names[row]: int(score) for row, score in zip(scores.rows, values, strict=True)}
        return seen

    def evaluate_plainly(self, pod: Pod, *, with_scores: bool) -> dict[str, Any]:
        """What follows from asking every plugin about every node, one after the other."""
        info = self.cluster.templates.info(pod)
        state, nodes, exists = CycleState(info), self.cluster.view(), self.cluster.nodes.exists
        pre_filtered, _ = run_pre_filters(self.profile, lambda plugin: state, info, nodes, {})
        if not pre_filtered.status.is_success:
            return {"pre_filter": pre_filtered, "count": 0}
        allowed = pre_filtered.node_names
        looked_at = [k for k in range(len(nodes)) if exists[k] and (allowed is None or nodes.name(k) in allowed)]
        filters = [plugin for plugin in self.profile.filters if plugin.name not in pre_filtered.skipped]
        verdicts = [(plugin.name, plugin.filter_nodes(state, info.template, nodes)) for plugin in filters]
        statuses: dict[str, Status] = {}
        for k in looked_at:
            claims = [p for p in self.nominator.on_node(nodes.name(k)) if p.priority >= info.priority]
            worlds = [(k, verdicts)]
            if claims:
                supposed = self.cluster.view(np.array([k])).supposing(WhatIf.added((0, p) for p in claims))
                worlds.insert(0, (0, [(p.name, p.filter_nodes(state, info.template, supposed)) for p in filters]))
            said = ((name, verdict, at) for at, world in worlds for name, verdict in world if verdict.bits[at])
            if (first := next(said, None)) is not None:
                name, verdict, at = first
                statuses[nodes.name(k)] = verdict.status(at, name)
        feasible = np.array([k for k in looked_at if nodes.name(k) not in statuses], dtype=np.intp)
        seen: dict[str, Any] = {
            "pre_filter": pre_filtered,
            "count": len(feasible),
            "fitting": sorted(nodes.name(k) for k in feasible),
            "statuses": statuses,
            "reasons": Counter(reason for status in statuses.values() for reason in status.reasons),
            "rejecting": {status.plugin for status in statuses.values()} | {*pre_filtered.limiting},
            "hopeful": sorted(name for name, status in statuses.items() if status.code is Code.UNSCHEDULABLE),
        }
        if len(feasible):
            scores = self._score_plainly(state, info, nodes.at(feasible))
            seen["totals"] = scores.pop("totals")
            seen |= scores if with_scores else {}
        if with_scores and not self.nominator.nominations:
            self._compare_with_scratch(info, seen)
        return seen

    def _compare_with_scratch(self, info: PodInfo, seen: dict[str, Any]) -> None:
        """The engine's own loop without memory comes to the same."""
        names = self.cluster.nodes.names
        pre_filtered, rejections, scores = evaluate(self.profile, info, self.cluster)
        assert pre_filtered == seen["pre_filter"]
        rejected = [(said, k, row) for said in rejections for k, row in enumerate(said.rows.tolist())]
        statuses = {names[row]: said.verdict.status(k, said.plugin) for said, k, row in rejected}
        assert statuses == seen["statuses"]
        totals = {} if scores is None else dict(zip(scores.rows.tolist(), scores.totals.tolist(), strict=True))
        assert {names[row]: total for row, total in totals.items()} == seen.get("totals", {})

    def _score_plainly(self, state: CycleState, info: PodInfo, nodes: NodeView) -> dict[str, dict[str, int]]:
        skipped = {p.name for p in self.profile.pre_scores if p.pre_score(state, info, nodes).is_skip}
        names = [nodes.name(k) for k in range(len(nodes))]
        scores: dict[str, dict[str, int]] = {"totals": dict.fromkeys(names, 0)}
        for plugin, weight in self.profile.scores:
            if plugin.name not in skipped:
                raw = plugin.score_nodes(state, info.template, nodes)
                final = plugin.normalize_scores(state, info.template, raw).tolist()
                scores[plugin.name] = dict(zip(names, final, strict=True))
                for name, score in zip(names, final, strict=True):
                    scores["totals"][name] += weight * score
        return scores


def pod_of(template: str, name: str, **more: Any) -> Pod:
    return make_pod(name, **{**TEMPLATES[template], **more})


FAMILIES = (
    ("web", "near", "alone", "liking", "shunning", "db", "hermit"),
    ("web", "alone", "clinging", "fleeing"),
    ("web", "liking", "shunning", "soft-spread"),
    ("web", "hard-spread", "host-spread", "soft-spread", "served", "db"),
    ("small", "gpu", "gpus"),
    ("plain", "small", "large", "gpu", "gpus", "port", "selecting", "preferring", "tolerant", "image"),
    ("plain", "like-plain", "small", "like-small", "web", "hermit", "alone"),
    ("disk-a", "disk-b", "disk-c", "disks", "like-plain"),
    tuple(TEMPLATES),
)
node_names = st.sampled_from(NODES)
labels = st.fixed_dictionaries(
    {}, optional={ZONE_LABEL: st.sampled_from("abc"), "disk": st.sampled_from(("ssd", "hdd"))}
)
nodes = st.builds(
    make_node,
    node_names,
    cpu=st.sampled_from(("1", "2", "4")),
    pods=st.sampled_from((2, 110)),
    resources=st.sampled_from(({}, {"example.com/gpu": 2})),
    labels=labels,
    taints=st.sampled_from(((), (), ("dedicated=a:NoSchedule",), ("dedicated=b:PreferNoSchedule",))),
    unschedulable=st.sampled_from((False, False, False, True)),
    images=st.sampled_from(({}, {"registry/app:1": 300_000_000})),
)


class IncrementalEvaluation(RuleBasedStateMachine):
    profile: Callable[[FakeHandle], ProfilePlugins] = staticmethod(in_tree)

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.side = Side(self.profile)
        self.serial = 0
        self.family: Sequence[str] = ()
        self.evaluated: Sequence[str] = ()
        self.limits: list[Any] = []

    @initialize(
        nodes=st.lists(nodes, min_size=2, max_size=8, unique_by=lambda node: node.metadata.name),
        family=st.sampled_from(FAMILIES),
        devices=st.sets(st.sampled_from(sorted(DEVICES))),
        data=st.data(),
        forgets=st.sampled_from((False, False, True)),
        together=st.booleans(),
    )
    def start(
        self,
        nodes: Sequence[Node],
        family: Sequence[str],
        devices: set[str],
        data: st.DataObject,
        forgets: bool,
        together: bool,
    ) -> None:
        self.family = family
        self.evaluated = data.draw(st.lists(st.sampled_from(family), min_size=3, max_size=5, unique=True))
        if forgets:
            self._limit_memory()
        if together:
            self._limit(patch.object(layer, "FEW_ROWS", 0), patch.object(totals, "FEW_ROWS", 0))
        for node in nodes:
            self.set_node(node)
        for name in sorted(devices):
            self._toggle_devices(name)

    def _limit_memory(self) -> None:
        """Journals overflow, counts and evaluations are dropped all the time."""
        for journal in (self.side.cluster.nodes.node_changes, self.side.cluster.nodes.pod_changes):
            journal._limit = 4  # plugins read these very journals
        self._limit(
            patch.object(evaluation_cache, "_BYTES_PER_ENTRY", 1 << 40),
            patch.object(evaluation_cache, "_FEWEST_KEPT", 2),
            patch.object(pod_counts, "_BYTES_FOR_COUNTS", 0),
            patch.object(pod_counts, "_FEWEST_KEPT", 3),
            patch.object(score_classes, "_MOST_BUCKETS", 4),
        )

    def _limit(self, *limits: Any) -> None:
        for limit in limits:
            limit.start()
            self.limits.append(limit)

    def new_name(self) -> str:
        self.serial += 1
        return f"p{self.serial}"

    # nodes

    @rule(node=nodes)
    def set_node(self, node: Node) -> None:
        self.world.nodes[node.metadata.name] = node
        self.side.cluster.set_node(node)

    @rule(name=node_names, labels=labels)
    def relabel_node(self, name: str, labels: dict[str, str]) -> None:
        if (node := self.world.nodes.get(name)) is not None:
            self.set_node(replace(node, metadata=replace(node.metadata, labels={HOSTNAME_LABEL: name, **labels})))

    @rule(name=node_names)
    def cordon_or_uncordon(self, name: str) -> None:
        if (node := self.world.nodes.get(name)) is not None:
            self.set_node(replace(node, spec=replace(node.spec, unschedulable=not node.spec.unschedulable)))

    @rule(name=node_names, taints=st.sampled_from(((), ("dedicated=a:NoSchedule",), ("dedicated=b:PreferNoSchedule",))))
    def taint_node(self, name: str, taints: tuple[str, ...]) -> None:
        if (node := self.world.nodes.get(name)) is not None:
            self.set_node(replace(node, spec=make_node(taints=taints).spec))

    @rule(name=node_names)
    def remove_node(self, name: str) -> None:
        if self.world.nodes.pop(name, None) is not None:
            self.side.cluster.remove_node(name)

    @rule(zone=st.sampled_from(("", "a", "b")), disk=st.booleans())
    def a_crowd_comes(self, zone: str, disk: bool) -> None:
        for name in CROWD:
            self.set_node(make_node(name, zone=zone, cpu="2", labels={"disk": "ssd"} if disk else {}))

    @rule()
    def the_crowd_leaves(self) -> None:
        for name in CROWD:
            self.remove_node(name)

    # placed pods

    @rule(data=st.data(), node=node_names, deleting=st.sampled_from((False, False, False, True)))
    def place_any(self, data: st.DataObject, node: str, deleting: bool) -> None:
        self.place(data.draw(st.sampled_from(self.family)), node, deleting)

    def place(self, template: str, node: str, deleting: bool = False) -> None:
        pod = pod_of(template, self.new_name(), node=node, deleting=deleting)
        self.world.pods[pod.metadata.uid] = pod
        self.side.cluster.place(self.side.cluster.templates.info(pod), node)

    @rule(data=st.data(), node=node_names)
    def pods_come_and_go(self, data: st.DataObject, node: str) -> None:
        """The same sums come up again and again."""
        template = data.draw(st.sampled_from(self.evaluated))
        for _ in range(3):
            self.place(template, node)
            self.equals_an_evaluation_from_scratch()
            self._displace(next(reversed(self.world.pods)))
            self.equals_an_evaluation_from_scratch()

    @rule(data=st.data())
    def displace(self, data: st.DataObject) -> None:
        if self.world.pods:
            self._displace(data.draw(st.sampled_from(sorted(self.world.pods))))

    def _displace(self, uid: str) -> None:
        del self.world.pods[uid]
        self.side.cluster.displace(uid)

    @rule(data=st.data(), deleting=st.booleans())
    def update_pod(self, data: st.DataObject, deleting: bool) -> None:
        if self.world.pods:
            template = data.draw(st.sampled_from(self.family))
            old = self.world.pods[data.draw(st.sampled_from(sorted(self.world.pods)))]
            namespace, name = old.metadata.namespace, old.metadata.name
            new = pod_of(
                template, name, namespace=namespace, uid=old.metadata.uid, node=old.spec.node_name, deleting=deleting
            )
            self.world.pods[new.metadata.uid] = new
            self.side.cluster.replace(self.side.cluster.templates.info(new))

    # everything else

    @rule(data=st.data(), node=node_names, priority=st.sampled_from((0, 10)))
    def nominate(self, data: st.DataObject, node: str, priority: int) -> None:
        pod = pod_of(data.draw(st.sampled_from(self.family)), self.new_name(), nominated_node=node, priority=priority)
        self.world.nominated[pod.metadata.uid] = pod
        self.side.nominator.add(self.side.cluster.templates.info(pod), None)

    @rule(data=st.data())
    def nomination_ends(self, data: st.DataObject) -> None:
        if self.world.nominated:
            uid = data.draw(st.sampled_from(sorted(self.world.nominated)))
            self.side.nominator.remove(self.world.nominated.pop(uid))

    @rule(name=st.sampled_from(("default", "other")), team=st.sampled_from(("", "x", "y")))
    def relabel_namespace(self, name: str, team: str) -> None:
        namespace = Namespace(metadata=ObjectMeta(name=name, labels={"team": team} if team else {}))
        self.world.namespaces[name] = namespace
        self.side.cluster.set_namespace(namespace)

    @rule(selector=st.sampled_from(({"tier": "front"}, {"app": "web"})))
    def a_service_comes_or_goes(self, selector: dict[str, str]) -> None:
        name = "-".join(selector.values())
        service = convert({"metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector}}, Service)
        if self.world.services.pop(name, None) is not None:
            self.side.handle.objects.of(Service).remove(service)
        else:
            self.world.services[name] = service
            self.side.handle.objects.of(Service).set(service)

    @rule(name=st.sampled_from(sorted(DEVICES)))
    def devices_come_or_go(self, name: str) -> None:
        """A pod that may be given devices is looked at before and after."""
        self._compare("gpus", self.world.fresh(self.profile), with_scores=True)
        self._toggle_devices(name)
        self._compare("gpus", self.world.fresh(self.profile), with_scores=True)

    def _toggle_devices(self, name: str) -> None:
        self.world.devices ^= {name}
        for obj in DEVICES[name]:
            store = self.side.handle.objects.of(type(obj))
            if name in self.world.devices:
                store.set(obj)
            else:
                store.remove(obj)

    @rule(
        claim=st.sampled_from("abc"),
        zone=st.sampled_from((None, None, "a", "b")),
        label=st.sampled_from((None, None, "a")),
        modes=st.sampled_from((("ReadWriteOnce",), ("ReadWriteOnce",), ("ReadWriteOncePod",))),
        disk=st.sampled_from((None, None, "shared")),
        in_tree=st.booleans(),
    )
    def a_claim_is_bound(
        self, claim: str, zone: str | None, label: str | None, modes: tuple[str, ...], disk: str | None, in_tree: bool
    ) -> None:
        reach = {"matchExpressions": [{"key": ZONE_LABEL, "operator": "In", "values": [zone]}]}
        volume = make_pv(
            f"pv-{claim}",
            claim=f"default/{claim}",
            node_affinity={"nodeSelectorTerms": [reach]} if zone else None,
            labels={ZONE_LABEL: label} if label else {},
            spec={"awsElasticBlockStore": {"volumeID": disk or claim}}
            if in_tree
            else {"csi": {"driver": DISK_DRIVER, "volumeHandle": disk or claim}},
        )
        self._set_storage(volume)
        self._set_storage(make_pvc(claim, volume=f"pv-{claim}", access_modes=modes))

    @rule(
        node=node_names,
        most=st.sampled_from((1, 2)),
        driver=st.sampled_from((DISK_DRIVER, EBS_DRIVER)),
        is_migrated=st.booleans(),
    )
    def limit_volumes(self, node: str, most: int, driver: str, is_migrated: bool) -> None:
        annotations = {MIGRATED_PLUGINS: "kubernetes.io/aws-ebs"} if is_migrated else {}
        self._set_storage(make_csi_node(node, limits={driver: most}, annotations=annotations))

    def _set_storage(self, item: PersistentVolume | PersistentVolumeClaim | CSINode) -> None:
        self.world.storage[f"{type(item).__name__} {item.metadata.name}"] = item
        self.side.handle.load(item)

    @rule()
    def forget(self) -> None:
        self.side.evaluator.forget()

    # the promise

    @invariant()
    def equals_an_evaluation_from_scratch(self) -> None:
        """One template is looked at after every step, the others every few steps: they have more to catch up with."""
        fresh = None
        for every, template in enumerate(self.evaluated, start=1):
            if self.serial % every == 0:
                fresh = fresh or self.world.fresh(self.profile)
                self._compare(template, fresh, with_scores=self.serial % 4 == 0)

    def _compare(self, template: str, fresh: Side, *, with_scores: bool) -> None:
        pod = pod_of(template, self.new_name())
        kept = self.side.evaluate(pod, with_scores=with_scores)
        assert kept == fresh.evaluate_plainly(pod, with_scores=with_scores), template

    @rule(data=st.data())
    def schedule(self, data: st.DataObject) -> None:
        """As the scheduler does it: pods of a template one after the other, each placed where it is best."""
        template = data.draw(st.sampled_from(self.evaluated))
        for _ in range(3):
            name = self.new_name()
            info = self.side.cluster.templates.info(pod_of(template, name))
            fit = self.side.evaluator.filter(info)
            if fit.count:
                node = self.side.evaluator.rank(fit).best()
                placed = pod_of(template, name, node=node)
                self.world.pods[placed.metadata.uid] = placed
                self.side.cluster.place(info, node)

    def teardown(self) -> None:
        try:
            fresh = self.world.fresh(self.profile)
            for template in (*self.evaluated, *TEMPLATES):
                self._compare(template, fresh, with_scores=True)
        finally:
            for limit in self.limits:
                limit.stop()


class OutOfTree(IncrementalEvaluation):
    profile = staticmethod(out_of_tree)


class KeptOnly(IncrementalEvaluation):
    profile = staticmethod(kept_only)


class KeptGrades(IncrementalEvaluation):
    profile = staticmethod(graded)


class NothingKept(IncrementalEvaluation):
    profile = staticmethod(nothing_kept)


class NoFilters(IncrementalEvaluation):
    profile = staticmethod(no_filters)


def bounded(machine: type[RuleBasedStateMachine], examples: int) -> Any:
    case = machine.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=25, deadline=None, derandomize=True)
    return case


TestInTree = bounded(IncrementalEvaluation, 30)
TestOutOfTree = bounded(OutOfTree, 8)
TestKeptOnly = bounded(KeptOnly, 10)
TestKeptGrades = bounded(KeptGrades, 15)
TestNothingKept = bounded(NothingKept, 5)
TestNoFilters = bounded(NoFilters, 5)
