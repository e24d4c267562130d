"""Who shares kept answers with whom: it depends on what plugins look at."""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import Any

import numpy as np
import pytest

from kubesched.config import FeatureGates, default_config
from kubesched.scheduler.columns import ClusterTables, Integers, NodeView, PodTemplate
from kubesched.scheduler.engine import BYTES_FOR_EVALUATIONS, Evaluator, Lineup
from kubesched.scheduler.engine.standing import Standing
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
AWAY_FROM_WEB = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME_LABEL}
        ]
    }
}


def in_tree(handle: FakeHandle) -> Lineup:
    profile = default_config(FeatureGates()).profiles[0]
    plugins: list[Any] = [IN_TREE[name](profile.args_of(name), handle) for name in PLUGINS]
    return Lineup(pre_filters=[], filters=plugins, pre_scores=[], scores=[])


def volume(claim: str, zone: str = "") -> list[Any]:
    """A claim and the volume that it is bound to, which only one zone may reach."""
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    csi = {"csi": {"driver": DRIVER, "volumeHandle": claim}}
    affinity = {"nodeSelectorTerms": [term]} if zone else None
    return [
        make_pv(f"pv-{claim}", claim=f"default/{claim}", node_affinity=affinity, spec=csi),
        make_pvc(claim, volume=f"pv-{claim}"),
    ]


def share_everything(one: Standing, other: Standing) -> bool:
    return (one.family, one.sums) == (other.family, other.sums)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        pytest.param({"labels": {"job": "1"}}, {"labels": {"job": "2"}}, "all", id="labels that nobody asks for"),
        pytest.param({"namespace": "a"}, {"namespace": "b"}, "all", id="another namespace"),
        pytest.param({"cpu": "1"}, {"cpu": "2"}, "family", id="other requests"),
        pytest.param({}, {"host_ports": [80]}, "nothing", id="a host port"),
        pytest.param({}, {"tolerations": ["a"]}, "nothing", id="a toleration"),
        pytest.param({"claims": ["a"]}, {"claims": ["b"]}, "all", id="a claim of its own, of the same kind"),
        pytest.param({"claims": ["a"]}, {"claims": ["far"]}, "nothing", id="a volume that fewer nodes reach"),
        pytest.param({"claims": ["a"]}, {"claims": ["used"]}, "nothing", id="a volume that is attached already"),
        pytest.param({"labels": {"app": "web"}}, {}, "nothing", id="a label that a placed pod shuns"),
        pytest.param({"affinity": AWAY_FROM_WEB}, {"affinity": AWAY_FROM_WEB, "cpu": "1"}, "nothing", id="terms"),
    ],
)
def test_who_shares_with_whom(one: dict[str, Any], other: dict[str, Any], shared: str) -> None:
    """Pods that no plugin can tell apart share everything; those that differ in requests, all but sums."""
    handle = FakeHandle()
    handle.load(make_node("n"), make_pod("hermit", affinity=AWAY_FROM_WEB, node="n"))
    handle.load(make_csi_node("n", limits={DRIVER: 9}))
    handle.load(*volume("a"), *volume("b"), *volume("far", zone="z"), *volume("used"))
    handle.load(make_pod("user", claims=["used"], node="n"))
    lineup = in_tree(handle)
    first, second = (
        Standing(handle.cluster.templates.info(make_pod(name, **about)).template, lineup)
        for name, about in (("p", one), ("q", other))
    )
    assert (first.family == second.family) is (shared != "nothing")
    assert share_everything(first, second) is (shared == "all")


def test_a_term_that_comes_into_use_parts_templates() -> None:
    """A pod with labels that somebody shuns from now on is like no other any more; without that term it is again."""
    handle = FakeHandle()
    handle.load(make_node("n"))
    lineup = in_tree(handle)
    web, plain = (handle.cluster.templates.info(make_pod(labels=labels)).template for labels in ({"app": "web"}, {}))
    standings = [Standing(web, lineup), Standing(plain, lineup)]
    assert share_everything(*standings)
    handle.load(make_pod("hermit", affinity=AWAY_FROM_WEB, node="n"))
    standings[0].renew(web)
    standings[1].renew(plain)
    assert not share_everything(*standings)
    handle.cluster.displace("default/hermit")
    standings[0].renew(web)
    assert share_everything(*standings)


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
    def __init__(self, nodes: int, memory: int = BYTES_FOR_EVALUATIONS) -> None:
        self.cluster, self.sized, self.open = ClusterTables(), Sized(), Open()
        lineup = Lineup(pre_filters=[], filters=[self.open, self.sized], pre_scores=[], scores=[(self.sized, 1)])
        self.evaluator = Evaluator(lineup, self.cluster, PodNominator(), Random(5), memory=memory)
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
