"""Who shares kept answers with whom: it depends on what plugins look at."""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import Any

import numpy as np
import pytest

from kubesched.config import FeatureGates, default_config
from kubesched.scheduler.columns import ClusterTables, Integers, NodeView, PodTemplate
from kubesched.scheduler.engine import BYTES_FOR_EVALUATIONS, Evaluator, ProfilePlugins
from kubesched.scheduler.engine.sharing.template_signature import Layouts, TemplateSignature
from kubesched.scheduler.framework import CycleState, DependsOn, FilterPlugin, Reason, ScorePlugin, Verdict
from kubesched.scheduler.plugins.registry import IN_TREE
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.testing import make_csi_node, make_node, make_pod
from kubesched.testing.builders import HOSTNAME_LABEL
from kubesched.testing.handle import FakeHandle
from kubesched.testing.storage_builders import make_pv, make_pvc

PLUGINS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
)
DRIVER = "csi.example.com"
ALL, NODES, NOTHING = ["nodes", "resources"], ["nodes"], list[str]()
AWAY_FROM_WEB = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME_LABEL}
        ]
    }
}


def in_tree(handle: FakeHandle) -> ProfilePlugins:
    profile = default_config(FeatureGates()).profiles[0]
    plugins: list[Any] = [IN_TREE[name](profile.args_of(name), handle) for name in PLUGINS]
    return ProfilePlugins(pre_filters=[], filters=plugins, pre_scores=[], scores=[])


def volume(claim: str, zone: str = "") -> list[Any]:
    """A claim and the volume that it is bound to, which only one zone may reach."""
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    csi = {"csi": {"driver": DRIVER, "volumeHandle": claim}}
    affinity = {"nodeSelectorTerms": [term]} if zone else None
    return [
        make_pv(f"pv-{claim}", claim=f"default/{claim}", node_affinity=affinity, spec=csi),
        make_pvc(claim, volume=f"pv-{claim}"),
    ]


def shared_layers(one: TemplateSignature, other: TemplateSignature) -> list[str]:
    """The names of the layers that two templates share, from the bottom to the top."""
    shared: list[str] = []
    layers = zip(one.layout.plans, one.parts, other.layout.plans, other.parts, strict=False)
    for plan, part, other_plan, other_part in layers:
        if plan is not other_plan or part != other_part:
            break
        shared.append(plan.name)
    return shared


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        pytest.param({"labels": {"job": "1"}}, {"labels": {"job": "2"}}, ALL, id="labels that nobody asks for"),
        pytest.param({"namespace": "a"}, {"namespace": "b"}, ALL, id="another namespace"),
        pytest.param({"cpu": "1"}, {"cpu": "2"}, NODES, id="other requests"),
        pytest.param({}, {"host_ports": [80]}, NOTHING, id="a host port"),
        pytest.param({}, {"tolerations": ["a"]}, NOTHING, id="a toleration"),
        pytest.param({"claims": ["a"]}, {"claims": ["b"]}, ALL, id="a claim of its own, of the same kind"),
        pytest.param({"claims": ["a"]}, {"claims": ["far"]}, NOTHING, id="a volume that fewer nodes reach"),
        pytest.param({"claims": ["a"]}, {"claims": ["used"]}, NOTHING, id="a volume that is attached already"),
        pytest.param({"labels": {"app": "web"}}, {}, NOTHING, id="a label that a placed pod shuns"),
        pytest.param({"affinity": AWAY_FROM_WEB}, {"affinity": AWAY_FROM_WEB, "cpu": "1"}, NODES, id="terms"),
    ],
)
def test_who_shares_with_whom(one: dict[str, Any], other: dict[str, Any], shared: list[str]) -> None:
    """Pods that no plugin can tell apart share everything; those that differ in requests, all but sums."""
    handle = FakeHandle()
    handle.load(make_node("n"), make_pod("hermit", affinity=AWAY_FROM_WEB, node="n"))
    handle.load(make_csi_node("n", limits={DRIVER: 9}))
    handle.load(*volume("a"), *volume("b"), *volume("far", zone="z"), *volume("used"))
    handle.load(make_pod("user", claims=["used"], node="n"))
    layouts = Layouts(in_tree(handle))
    first, second = (
        TemplateSignature(handle.cluster.templates.info(make_pod(name, **about)).template, layouts)
        for name, about in (("p", one), ("q", other))
    )
    assert shared_layers(first, second) == shared


def test_a_term_that_comes_into_use_parts_templates() -> None:
    """A pod with labels that somebody shuns from now on is like no other any more; without that term it is again."""
    handle = FakeHandle()
    handle.load(make_node("n"))
    layouts = Layouts(in_tree(handle))
    web, plain = (handle.cluster.templates.info(make_pod(labels=labels)).template for labels in ({"app": "web"}, {}))
    of_web, of_plain = TemplateSignature(web, layouts), TemplateSignature(plain, layouts)
    assert shared_layers(of_web, of_plain) == ALL
    handle.load(make_pod("hermit", affinity=AWAY_FROM_WEB, node="n"))
    of_web.update(web)
    of_plain.update(plain)
    assert shared_layers(of_web, of_plain) == NOTHING
    handle.cluster.displace("default/hermit")
    of_web.update(web)
    assert shared_layers(of_web, of_plain) == ALL


class Sized(FilterPlugin, ScorePlugin):
    """A node takes as many pods as a pod's label says. Sees sums, and the label."""

    name = "Sized"
    depends_on = DependsOn.NODE_RESOURCES

    def __init__(self) -> None:
        self.asked: list[int] = []

    def signature(self, pod: PodTemplate) -> Hashable:
        return pod.labels["most"]

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        self.asked.append(len(nodes))
        full = nodes.pod_count >= int(pod.labels["most"])
        return Verdict.rejects(nodes, where=full, reason=Reason.unschedulable("full"))

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        return np.maximum(0, 100 - nodes.pod_count)


class Open(FilterPlugin):
    """Rejects cordoned nodes; all pods are the same to it."""

    name = "Open"
    depends_on = DependsOn.NODE

    def __init__(self) -> None:
        self.asked: list[int] = []

    def signature(self, pod: PodTemplate) -> Hashable:
        return ()

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        self.asked.append(len(nodes))
        return Verdict.rejects(nodes, where=nodes.unschedulable, reason=Reason.unschedulable("cordoned"))


class Bench:
    def __init__(self, nodes: int, *more: FilterPlugin, memory: int = BYTES_FOR_EVALUATIONS) -> None:
        self.cluster, self.sized, self.open = ClusterTables(), Sized(), Open()
        profile = ProfilePlugins(
            pre_filters=[], filters=[self.open, *more, self.sized], pre_scores=[], scores=[(self.sized, 1)]
        )
        self.evaluator = Evaluator(profile, self.cluster, PodNominator(), Random(5), memory=memory)
        for k in range(nodes):
            self.cluster.set_node(make_node(f"n{k}"))
        self.placed = 0

    def names(self, **labels: str) -> list[str]:
        return self.evaluator.filter(self.cluster.templates.info(make_pod(labels=labels))).names()

    def place(self, node: str) -> None:
        self.placed += 1
        pod = make_pod(f"placed-{self.placed}", labels={"most": "0"}, node=node)
        self.cluster.place(self.cluster.templates.info(pod), node)


def test_members_of_a_family_learn_what_another_found_changed() -> None:
    """A node that was cordoned while one member looked on is cordoned for the others, and nobody is asked twice."""
    bench = Bench(3)
    assert bench.names(most="1") == bench.names(most="2") == ["n0", "n1", "n2"]
    bench.cluster.set_node(make_node("n1", unschedulable=True))
    assert bench.names(most="1") == ["n0", "n2"]
    bench.cluster.set_node(make_node("n2", unschedulable=True))
    assert bench.names(most="1") == ["n0"]
    assert bench.names(most="2") == ["n0"]
    assert bench.open.asked == [3, 1, 1]


class Unsigned(FilterPlugin):
    """Says what its answers depend on, and nothing more."""

    name = "Unsigned"

    def __init__(self, depends_on: DependsOn) -> None:
        self.depends_on = depends_on  # type: ignore[misc]  # one class for several plugins
        self.asked: list[int] = []

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        self.asked.append(len(nodes))
        wrong = np.array([nodes.name(k) == pod.labels.get("not") for k in range(len(nodes))])
        return Verdict.rejects(nodes, where=wrong, reason=Reason.unschedulable("not this one"))


@pytest.mark.parametrize("depends_on", [DependsOn.NODE, DependsOn.NODE_AND_PODS, DependsOn.NODE_RESOURCES])
def test_a_plugin_without_a_signature_costs_only_itself(depends_on: DependsOn) -> None:
    """It is asked about every template; the answers of the others are shared all the same."""
    unsigned = Unsigned(depends_on)
    bench = Bench(3, unsigned)
    assert bench.names(most="1", **{"not": "n0"}) == ["n1", "n2"]
    assert bench.names(most="1", **{"not": "n1"}) == ["n0", "n2"]
    assert bench.names(most="1", job="c") == ["n0", "n1", "n2"]
    assert (bench.open.asked, bench.sized.asked, unsigned.asked) == ([3], [3], [3, 3, 3])
    bench.place("n2")
    bench.cluster.set_node(make_node("n1", unschedulable=True))
    assert bench.names(most="1", **{"not": "n0"}) == []
    assert bench.names(most="1", **{"not": "n1"}) == ["n0"]
    assert bench.names(most="1", job="c") == ["n0"]
    assert sum(bench.open.asked) == 3 + 1
    assert sum(bench.sized.asked) == 3 + 2


def test_pods_that_are_alike_share_one_evaluation() -> None:
    """The second costs no question, though it was never seen before."""
    bench = Bench(3)
    bench.names(most="1", job="a")
    asked = bench.evaluator.rows_asked
    bench.names(most="1", job="b")
    assert bench.evaluator.rows_asked == asked
    assert (bench.evaluator.hits, bench.evaluator.misses) == (1, 1)


def test_evaluations_leave_beyond_a_number_of_bytes() -> None:
    """In a small cluster, too: each takes some 30 KiB whatever the number of nodes, and holds on to its template."""
    bench = Bench(3, memory=1 << 20)
    for most in range(100):
        bench.names(most=str(most))
    assert 20 <= len(bench.cluster.templates) <= 32
    misses = bench.evaluator.misses
    bench.names(most="99")
    bench.names(most="0")
    assert bench.evaluator.misses == misses + 1


@pytest.mark.parametrize("changed", [1, 100, 150, 900], ids=lambda rows: f"{rows} rows have changed meanwhile")
def test_a_long_absence_is_made_up_for(changed: int) -> None:
    """Row by row, all rows at once, or by a beginning anew: with the same result."""
    bench = Bench(2000)
    for _ in range(3):
        info = bench.cluster.templates.info(make_pod(labels={"most": "1"}))
        bench.evaluator.rank(bench.evaluator.filter(info))
    for k in range(changed):
        bench.place(f"n{k}")
    fit = bench.evaluator.filter(info)
    assert fit.count == 2000 - changed
    assert fit.rows().tolist() == list(range(changed, 2000))
    assert bench.evaluator.rank(fit).by_name() == {f"n{k}": 100 for k in range(changed, 2000)}
