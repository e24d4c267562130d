"""PodTopologySpread: reasons, defaults, odd input, what-ifs and queueing hints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kubesched.config.plugin_args import LIST_DEFAULTING, PodTopologySpreadArgs
from kubesched.objects import Node, Pod, ReplicaSet, ReplicationController, Service, StatefulSet
from kubesched.objects.affinity import TopologySpreadConstraint
from kubesched.objects.codec import convert
from kubesched.scheduler.columns import WhatIf
from kubesched.scheduler.framework import Code, CycleState, Hint
from kubesched.scheduler.plugins.pod_topology_spread import PodTopologySpread
from kubesched.testing.handle import FakeHandle, ask

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
WEB, WEB_LABELS = {"matchLabels": {"app": "web"}}, {"app": "web"}
BROKEN = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
SKEWED = "node(s) didn't match pod topology spread constraints"
MISSING = f"{SKEWED} (missing required label)"


def node(name: str, zone: str = "", **more: Any) -> Node:
    labels = {HOST: name} | ({ZONE: zone} if zone else {}) | more.pop("labels", {})
    return convert({"metadata": {"name": name, "labels": labels}, "spec": more}, Node)


def spread(action: str = HARD, skew: Any = 1, key: str = ZONE, selector: Any = WEB, **more: Any) -> dict[str, Any]:
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector} | more


def pod(name: str = "new", node_name: str = "", *constraints: Any, labels: Any = None, **spec: Any) -> Pod:
    metadata = {"name": name, "uid": name, "namespace": "default", "labels": WEB_LABELS if labels is None else labels}
    for field in ("ownerReferences", "deletionTimestamp"):
        if field in spec:
            metadata[field] = spec.pop(field)
    return convert(
        {"metadata": metadata, "spec": {"nodeName": node_name, "topologySpreadConstraints": constraints} | spec}, Pod
    )


NODES = (node("a1", "a"), node("a2", "a"), node("b1", "b"), node("nowhere"))
TWO_IN_A = (pod("w1", "a1"), pod("w2", "a2"))


@pytest.mark.parametrize(
    ("constraints", "rejected"),
    [
        pytest.param([spread()], {"a1": SKEWED, "a2": SKEWED, "nowhere": MISSING}, id="the fuller zone is out"),
        pytest.param([spread(skew=3)], {"nowhere": MISSING}, id="a larger skew is allowed"),
        pytest.param(
            [spread(skew=3, minDomains=3)], {"nowhere": MISSING}, id="too few domains: the least counts as none"
        ),
        pytest.param(
            [spread(skew=2, minDomains=3)],
            {"a1": SKEWED, "a2": SKEWED, "nowhere": MISSING},
            id="too few domains: what there is counts in full",
        ),
        pytest.param(
            [spread(selector={"matchLabels": {"app": "db"}})],
            {"nowhere": MISSING},
            id="nothing selected, not itself",
        ),
        pytest.param([spread(selector={})], {"nowhere": MISSING}, id="an empty selector counts no placed pod"),
        pytest.param(
            [spread(key=HOST), spread()],
            {"a1": SKEWED, "a2": SKEWED, "nowhere": MISSING},
            id="every constraint must hold, and only nodes with all labels count",
        ),
        pytest.param(
            [spread(key="rack")],
            dict.fromkeys(("a1", "a2", "b1", "nowhere"), MISSING),
            id="a topology that no node has",
        ),
    ],
)
def test_filter(constraints: list[Any], rejected: dict[str, str]) -> None:
    """Which nodes are out, with the reason."""
    handle = FakeHandle().load(*NODES, *TWO_IN_A)
    answer = ask(PodTopologySpread(None, handle), pod("new", "", *constraints), handle.cluster)
    assert {name: status.message for name, status in answer.statuses.items() if not status.is_success} == rejected


@pytest.mark.parametrize(
    ("policies", "spec", "is_balanced"),
    [
        pytest.param({}, {}, False, id="without wishes, all nodes count"),
        pytest.param({}, {"nodeSelector": {"disk": "ssd"}}, True, id="node affinity is honoured unless told otherwise"),
        pytest.param({"nodeAffinityPolicy": "Ignore"}, {"nodeSelector": {"disk": "ssd"}}, False, id="or ignored"),
        pytest.param({"nodeTaintsPolicy": "Honor"}, {}, True, id="taints are honoured on demand"),
        pytest.param(
            {"nodeTaintsPolicy": "Honor"},
            {"tolerations": [{"operator": "Exists"}]},
            False,
            id="tolerated: as if untainted",
        ),
    ],
)
def test_node_inclusion_policies(policies: dict[str, str], spec: dict[str, Any], is_balanced: bool) -> None:
    """The empty zone b counts only if its node takes part."""
    taint = {"key": "t", "effect": "NoSchedule"}
    handle = FakeHandle().load(
        node("a1", "a", labels={"disk": "ssd"}), node("b1", "b", taints=[taint]), pod("w1", "a1"), pod("w2", "a1")
    )
    answer = ask(PodTopologySpread(None, handle), pod("new", "", spread(**policies), **spec), handle.cluster)
    assert answer.statuses["a1"].is_success is is_balanced


def test_match_label_keys_narrow_the_selector() -> None:
    """Pods of another revision do not count."""
    handle = FakeHandle().load(*NODES, pod("w1", "a1", labels=WEB_LABELS | {"rev": "1"}))
    plugin = PodTopologySpread(None, handle)
    for revision, fits in (("1", False), ("2", True)):
        incoming = pod("new", "", spread(matchLabelKeys=["rev", "none"]), labels=WEB_LABELS | {"rev": revision})
        assert ask(plugin, incoming, handle.cluster).statuses["a2"].is_success is fits


def test_terminating_pods_do_not_count() -> None:
    """A pod that is going away leaves its place."""
    handle = FakeHandle().load(*NODES, pod("w1", "a1", **GOING))
    assert ask(PodTopologySpread(None, handle), pod("new", "", spread()), handle.cluster).statuses["a1"].is_success


@pytest.mark.parametrize(
    ("selector", "deletion", "others_in_a", "fits"),
    [
        pytest.param(WEB, {}, 0, True, id="a pod that counted is taken off"),
        pytest.param(WEB, {}, 1, False, id="those that stay still count"),
        pytest.param(WEB, GOING, 1, True, id="a terminating pod, which did not count, is taken off all the same"),
    ],
)
def test_removed_pods_are_subtracted_as_upstream_does(
    selector: Any, deletion: dict[str, str], others_in_a: int, fits: bool
) -> None:
    """updateWithPod does not look at the deletion timestamp."""
    others = [pod(f"o{i}", "a1") for i in range(others_in_a)]
    handle = FakeHandle().load(node("a1", "a"), node("b1", "b"), *others, pod("w", "a1", **deletion))
    cluster = handle.cluster
    info = cluster.templates.info(pod("new", "", spread(selector=selector)))
    removed = WhatIf.removed(cluster.pods, np.array([cluster.pods.row_of("w")]), np.array([cluster.nodes.row_of["a1"]]))
    plugin = PodTopologySpread(None, handle)
    verdict = plugin.filter_nodes(CycleState(info), info.template, cluster.view().supposing(removed))
    assert bool(verdict.fitting[0]) is fits


def test_pods_supposed_on_a_node_count_even_with_an_empty_selector() -> None:
    """updateWithPod does not look for an empty selector, though counting placed pods does."""
    handle = FakeHandle().load(node("a1", "a"), node("b1", "b"))
    cluster = handle.cluster
    info = cluster.templates.info(pod("new", "", spread(selector={})))
    added = WhatIf.added([(0, cluster.templates.info(pod("other")))])
    verdict = PodTopologySpread(None, handle).filter_nodes(
        CycleState(info), info.template, cluster.view().supposing(added)
    )
    assert verdict.fitting.tolist() == [False, True]


def owned(api_version: str, kind: str) -> list[dict[str, Any]]:
    return [{"apiVersion": api_version, "kind": kind, "name": "web", "controller": True}]


def owner(kind: type, selector: Any) -> Any:
    return convert({"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": selector}}, kind)


@pytest.mark.parametrize(
    ("owners", "others", "is_scored"),
    [
        pytest.param([], [], False, id="nobody selects the pod"),
        pytest.param([], [owner(Service, WEB_LABELS)], True, id="a service"),
        pytest.param([], [owner(Service, {"app": "db"})], False, id="a service of others"),
        pytest.param([], [owner(Service, {})], False, id="a service without a selector"),
        pytest.param(owned("apps/v1", "ReplicaSet"), [owner(ReplicaSet, WEB)], True, id="its replica set"),
        pytest.param(owned("apps/v1", "StatefulSet"), [owner(StatefulSet, WEB)], True, id="its stateful set"),
        pytest.param(
            owned("v1", "ReplicationController"), [owner(ReplicationController, WEB_LABELS)], True, id="its controller"
        ),
        pytest.param(owned("apps/v1", "ReplicaSet"), [], False, id="a replica set that is not known"),
        pytest.param(
            owned("apps.kruise.io/v1", "StatefulSet"), [owner(StatefulSet, WEB)], False, id="a kind of another group"
        ),
        pytest.param(owned("apps/v1", "ReplicaSet"), [owner(ReplicaSet, BROKEN)], False, id="a broken selector"),
    ],
)
def test_system_defaults(owners: list[Any], others: list[Any], is_scored: bool) -> None:
    """Pods that a service or a controller selects are spread over hosts and zones when scored."""
    handle = FakeHandle().load(*NODES, *TWO_IN_A, *others)
    answer = ask(PodTopologySpread(None, handle), pod(ownerReferences=owners), handle.cluster)
    # A pod on the host costs ln(4 + 2), one in the zone ln(3 + 2); the skews 3 and 5 add 2 and 4. Hence raw scores of
    # 11 in zone a, 6 in zone b, and 2 where the zone is not known.
    assert answer.scores == ({"a1": 18, "a2": 18, "b1": 63, "nowhere": 100} if is_scored else None)


def test_defaults_follow_the_services() -> None:
    """The external version changes when a service comes that selects the pod, not when another one does."""
    handle = FakeHandle().load(*NODES)
    plugin, template = PodTopologySpread(None, handle), handle.cluster.templates.info(pod()).template
    assert plugin.external_version(template) is None
    handle.load(owner(Service, {"app": "db"}))
    assert plugin.external_version(template) is None
    handle.load(owner(Service, WEB_LABELS))
    assert plugin.external_version(template) is not None


def test_listed_defaults_can_reject() -> None:
    """Defaults of the configuration apply to pods without constraints, with the selector of their services."""
    constraint = TopologySpreadConstraint(max_skew=1, topology_key=ZONE, when_unsatisfiable=HARD)
    handle = FakeHandle().load(*NODES, *TWO_IN_A, owner(Service, WEB_LABELS))
    args = PodTopologySpreadArgs(default_constraints=(constraint,), defaulting_type=LIST_DEFAULTING)
    answer = ask(PodTopologySpread(args, handle), pod(), handle.cluster)
    assert [name for name, status in answer.statuses.items() if status.is_success] == ["b1"]
    assert answer.scores is None


def test_nodes_without_a_label_score_nothing() -> None:
    """With constraints of its own, a pod scores only nodes that carry all their keys."""
    handle = FakeHandle().load(*NODES, *TWO_IN_A)
    answer = ask(PodTopologySpread(None, handle), pod("new", "", spread(SOFT)), handle.cluster)
    assert answer.scores == {"a1": 0, "a2": 0, "b1": 100, "nowhere": 0}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        pytest.param(HARD, "get constraints from pod: obtaining pod's hard topology spread constraints: ", id="hard"),
        pytest.param(SOFT, "calculating preScoreState: obtaining pod's soft topology spread constraints: ", id="soft"),
    ],
)
def test_a_selector_that_does_not_compile_is_an_error(action: str, message: str) -> None:
    """At the extension point that needs it, and only there."""
    handle = FakeHandle().load(*NODES)
    plugin = PodTopologySpread(None, handle)
    info = handle.cluster.templates.info(pod("new", "", spread(action, selector=BROKEN)))
    state, nodes = CycleState(info), handle.cluster.view()
    statuses = (plugin.pre_filter(state, info, nodes), plugin.pre_score(state, info, nodes))
    failed, other = statuses if action == HARD else reversed(statuses)
    assert failed.code is Code.ERROR
    assert failed.message == f'{message}"Near" is not a valid label selector operator'
    assert other.is_skip


def test_a_pod_on_an_unknown_node_makes_a_row_that_takes_no_part() -> None:
    """The kept plan must not trip over a row that came without a node."""
    handle = FakeHandle().load(*NODES)
    plugin, incoming = PodTopologySpread(None, handle), pod("new", "", spread(), spread(SOFT), nodeSelector={ZONE: "b"})
    ask(plugin, incoming, handle.cluster)
    handle.load(pod("lost", "not-yet-known"))
    assert ask(plugin, incoming, handle.cluster).statuses["b1"].is_success


SPREADING = pod("new", "", spread(nodeTaintsPolicy="Honor"))
TAINTED = node("a1", "a", taints=[{"key": "t", "effect": "NoSchedule"}])


@pytest.mark.parametrize(
    ("index", "old", "new", "helps"),
    [
        pytest.param(0, None, pod("w", "a1"), True, id="a counted pod was placed"),
        pytest.param(0, None, pod("w"), False, id="a pod that would count is still pending"),
        pytest.param(0, pod("w", "a1"), None, True, id="a counted pod has gone"),
        pytest.param(0, pod("w", "a1", labels={}), None, False, id="another pod has gone"),
        pytest.param(1, pod("w", "a1"), pod("w", "a1", labels={}), True, id="a placed pod counts no more"),
        pytest.param(1, pod("w", "a1"), pod("w", "a1", labels=WEB_LABELS | {"x": "y"}), False, id="still counts"),
        pytest.param(1, pod("w"), pod("w", labels={}), False, id="a pending pod would count no more"),
        pytest.param(1, SPREADING, pod("new", tolerations=[{"operator": "Exists"}]), True, id="it tolerates more"),
        pytest.param(2, None, NODES[0], True, id="a node of the topology came"),
        pytest.param(2, None, NODES[3], False, id="a node outside the topology came"),
        pytest.param(2, NODES[0], None, True, id="a node of the topology has gone"),
        pytest.param(2, NODES[0], node("a1", "b"), True, id="a node moved"),
        pytest.param(2, NODES[0], node("a1"), True, id="a node left the topology"),
        pytest.param(2, NODES[0], TAINTED, True, id="a node changed its taints"),
        pytest.param(2, NODES[0], node("a1", "a", labels={"x": "y"}), False, id="another label changed"),
    ],
)
def test_hints(index: int, old: Any, new: Any, helps: bool) -> None:
    """Which events are worth another attempt."""
    handle = FakeHandle()
    function = PodTopologySpread(None, handle).events_to_register()[index].hint
    assert function is not None
    assert function(handle.cluster.templates.info(SPREADING), old, new) is (Hint.QUEUE if helps else Hint.SKIP)
