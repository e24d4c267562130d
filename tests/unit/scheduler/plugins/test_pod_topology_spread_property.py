"""PodTopologySpread against a plain formulation of its rules, one node at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.objects import Node, Pod, ReplicaSet
from kubesched.objects.affinity import TopologySpreadConstraint
from kubesched.objects.codec import convert
from kubesched.scheduler.columns import PodInfo, WhatIf
from kubesched.scheduler.framework import CycleState
from kubesched.scheduler.plugins.pod_topology_spread import PodTopologySpread
from kubesched.testing.handle import FakeHandle

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SYSTEM_DEFAULTS = [
    TopologySpreadConstraint(max_skew=3, topology_key=HOST, when_unsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable="ScheduleAnyway"),
]

# ---- the plain formulation ---------------------------------------------------------------------------------------


@dataclass
class World:
    """Nodes by name, and the pods on each."""

    nodes: Mapping[str, Node]
    pods: dict[str, list[Pod]] = field(default_factory=dict)

    def labels(self, name: str) -> Mapping[str, str]:
        return self.nodes[name].metadata.labels


def _selects(constraint: TopologySpreadConstraint, pod: Pod, labels: Mapping[str, str]) -> bool:
    """Defaults have no selector of their own: the pod's replica set selects by `app`."""
    selector = constraint.label_selector
    if not pod.spec.topology_spread_constraints:
        return labels.get("app") == "x"
    if selector is None:
        return False
    keys = [key for key in constraint.match_label_keys if key in pod.metadata.labels]
    shared = {key: pod.metadata.labels[key] for key in keys}
    return selector.match_labels.items() <= labels.items() and shared.items() <= labels.items()


def _is_empty(constraint: TopologySpreadConstraint, pod: Pod) -> bool:
    has_own = bool(pod.spec.topology_spread_constraints)
    keys = [key for key in constraint.match_label_keys if key in pod.metadata.labels]
    return has_own and constraint.label_selector is not None and not constraint.label_selector.match_labels and not keys


def _selected(constraint: TopologySpreadConstraint, pod: Pod, world: World, node: str) -> int:
    if _is_empty(constraint, pod):
        return 0
    return sum(
        other.metadata.namespace == pod.metadata.namespace
        and other.metadata.deletion_timestamp is None
        and _selects(constraint, pod, other.metadata.labels)
        for other in world.pods[node]
    )


def _is_admitted(constraint: TopologySpreadConstraint, pod: Pod, node: Node) -> bool:
    wanted = pod.spec.node_selector.items() <= node.metadata.labels.items()
    if constraint.node_affinity_policy != "Ignore" and not wanted:
        return False
    return constraint.node_taints_policy != "Honor" or not node.spec.taints


def plain_filter(pod: Pod, node: str, world: World) -> str:
    hard = [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
    for constraint in hard:
        counts = _domains(constraint, hard, pod, world)
        key = constraint.topology_key
        if key not in world.labels(node):
            return "missing"
        here = world.labels(node)[key]
        least = min(counts.values()) if len(counts) >= (constraint.min_domains or 1) else 0
        itself = int(_selects(constraint, pod, pod.metadata.labels))
        if counts.get(here, 0) + itself - least > constraint.max_skew:
            return "skewed"
    return ""


def _domains(
    constraint: TopologySpreadConstraint, hard: list[TopologySpreadConstraint], pod: Pod, world: World
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, node in world.nodes.items():
        has_all = all(c.topology_key in node.metadata.labels for c in hard)
        if has_all and _is_admitted(constraint, pod, node):
            value = node.metadata.labels[constraint.topology_key]
            counts[value] = counts.get(value, 0) + _selected(constraint, pod, world, name)
    return counts


def plain_scores(pod: Pod, feasible: list[str], world: World) -> list[int] | None:
    """Normalised; None for Skip."""
    own = list(pod.spec.topology_spread_constraints)
    soft = [c for c in own or SYSTEM_DEFAULTS if c.when_unsatisfiable == "ScheduleAnyway"]
    if not soft:
        return None

    def has_all(name: str) -> bool:
        return not own or all(c.topology_key in world.labels(name) for c in soft)

    scored = [name for name in feasible if has_all(name)]
    raw = {}
    for name in scored:
        total = 0.0
        for c in soft:
            if c.topology_key not in world.labels(name):
                continue
            value = world.labels(name)[c.topology_key]
            if c.topology_key == HOST:
                size, count = len(scored), _selected(c, pod, world, name)
            else:
                size = len({world.labels(other).get(c.topology_key, "") for other in scored})
                count = sum(
                    _selected(c, pod, world, other)
                    for other, node in world.nodes.items()
                    if has_all(other)
                    and _is_admitted(c, pod, node)
                    and node.metadata.labels.get(c.topology_key, "") == value
                )
            total += count * math.log(size + 2) + (c.max_skew - 1)
        raw[name] = math.floor(total + 0.5)
    largest, least = max(raw.values(), default=0), min(raw.values(), default=0)
    return [
        0 if name not in raw else 100 if not largest else 100 * (largest + least - raw[name]) // largest
        for name in feasible
    ]


# ---- random clusters ---------------------------------------------------------------------------------------------

labels = st.sampled_from([{"app": "x"}, {"app": "x", "v": "1"}, {"app": "x", "v": "2"}, {"app": "y"}, {"v": "1"}, {}])
policies = st.sampled_from([None, "Honor", "Ignore"])
constraints = st.builds(
    lambda skew, key, action, selector, least, by_affinity, by_taints, keys: {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": action,
        **({"labelSelector": {"matchLabels": selector}} if selector is not None else {}),
        **({"minDomains": least} if least and action == "DoNotSchedule" else {}),
        **({"nodeAffinityPolicy": by_affinity} if by_affinity else {}),
        **({"nodeTaintsPolicy": by_taints} if by_taints else {}),
        "matchLabelKeys": keys,
    },
    st.integers(1, 2),
    st.sampled_from([ZONE, HOST, "rack"]),
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    st.sampled_from([{"app": "x"}, {"app": "x"}, {"app": "x", "v": "1"}, {}, None]),
    st.sampled_from([None, 2, 3]),
    policies,
    policies,
    st.sampled_from([[], ["v"]]),
)
incoming_pods = st.builds(
    lambda found, wanted, spread: {
        "metadata": {"labels": found},
        "spec": {"topologySpreadConstraints": spread, "nodeSelector": wanted},
    },
    labels,
    st.sampled_from([{}, {}, {"disk": "ssd"}]),
    st.lists(constraints, max_size=3),
)
placed_pods = st.builds(
    lambda namespace, found, is_terminating: {
        "metadata": {"namespace": namespace, "labels": found}
        | ({"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_terminating else {})
    },
    st.sampled_from(["default", "default", "other"]),
    labels,
    st.sampled_from([False, False, True]),
)
nodes = st.lists(
    st.builds(
        lambda found, taint: {"metadata": {"labels": found}, "spec": {"taints": taint}},
        st.builds(
            lambda zone, rack, disk: zone | rack | disk,
            st.sampled_from([{ZONE: "a"}, {ZONE: "b"}, {ZONE: "c"}, {ZONE: ""}, {}]),
            st.sampled_from([{"rack": "r"}, {"rack": "s"}, {"rack": "t"}, {}]),
            st.sampled_from([{"disk": "ssd"}, {}]),
        ),
        st.sampled_from([[], [{"key": "t", "effect": "NoSchedule"}]]),
    ),
    min_size=2,
    max_size=6,
)


def _pod(source: Any, uid: int) -> Pod:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    identity = {"namespace": "default", "name": f"pod-{uid}", "uid": f"uid-{uid}", "ownerReferences": [owner]}
    return convert(source | {"metadata": identity | source["metadata"]}, Pod)


def _loaded(sources: list[Any]) -> tuple[FakeHandle, World]:
    found = {}
    for i, source in enumerate(sources):
        own = source["metadata"]["labels"] | ({HOST: f"h{i}"} if i != 4 else {})
        found[f"node-{i}"] = convert(source | {"metadata": {"name": f"node-{i}", "labels": own}}, Node)
    replica_set = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
    }
    handle = FakeHandle().load(*found.values(), convert(replica_set, ReplicaSet))
    return handle, World(found, {name: [] for name in found})


WORDS = {
    "node(s) didn't match pod topology spread constraints (missing required label)": "missing",
    "node(s) didn't match pod topology spread constraints": "skewed",
    "": "",
}


@settings(max_examples=250, deadline=None)
@given(nodes, st.lists(st.tuples(st.integers(0, 5), placed_pods), min_size=3, max_size=8), incoming_pods, st.data())
def test_filter_and_score_agree_with_the_plain_formulation(
    sources: list[Any], placed: list[tuple[int, Any]], incoming: Any, data: st.DataObject
) -> None:
    """All nodes or few feasible ones, after placements one by one, and with pods added and removed hypothetically."""
    handle, world = _loaded(sources)
    names = list(world.nodes)
    plugin = PodTopologySpread(None, handle)
    info = handle.cluster.templates.info(_pod(incoming, 0))
    for uid, (where, source) in enumerate(placed, 1):
        _statuses(plugin, handle, info)  # so that counts are kept, and changed by what follows
        pod, node = _pod(source, uid), names[where % len(names)]
        handle.cluster.place(handle.cluster.templates.info(pod), node)
        world.pods[node].append(pod)
    assert _statuses(plugin, handle, info) == [plain_filter(info.pod, name, world) for name in names]
    feasible = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    assert _scores(plugin, handle, info, feasible) == plain_scores(info.pod, feasible, world)
    _compare_what_if(plugin, handle, info, world, data)


def _statuses(plugin: PodTopologySpread, handle: FakeHandle, info: PodInfo) -> list[str]:
    state, view = CycleState(info), handle.cluster.view()
    plugin.external_version(info.template)
    if plugin.pre_filter(state, info, view).is_skip:
        return [""] * len(view)
    verdict = plugin.filter_nodes(state, info.template, view)
    return [WORDS[verdict.status(i, "").message] for i in range(len(view))]


def _scores(plugin: PodTopologySpread, handle: FakeHandle, info: PodInfo, feasible: list[str]) -> list[int] | None:
    rows = np.array([handle.cluster.nodes.row_of[name] for name in feasible], dtype=np.intp)
    state, view = CycleState(info), handle.cluster.view(rows)
    if plugin.pre_score(state, info, view).is_skip:
        return None
    raw = plugin.score_nodes(state, info.template, view)
    normalized: list[int] = plugin.normalize_scores(state, info.template, raw).tolist()
    return normalized


def _compare_what_if(
    plugin: PodTopologySpread, handle: FakeHandle, info: PodInfo, world: World, data: st.DataObject
) -> None:
    """Each row of the view is a world of its own, in which one pod has gone and others have come."""
    names, cluster = list(world.nodes), handle.cluster
    # Pods that only a "what if" sees differently from a count (empty selectors, terminating pods) have their own test.
    if any(_is_empty(c, info.pod) for c in info.pod.spec.topology_spread_constraints):
        return
    if plugin.pre_filter(CycleState(info), info, cluster.view()).is_skip:
        return
    positions = np.arange(len(names) - 1, -1, -1)
    added: list[tuple[int, PodInfo]] = []
    gone: list[tuple[int | None, int]] = []
    expected = []
    for position, row in enumerate(positions.tolist()):
        mine = list(world.pods[names[row]])
        if mine and mine[-1].metadata.deletion_timestamp is None and data.draw(st.booleans()):
            gone.append((cluster.pods.row_of(mine.pop().metadata.uid), position))
        for number in range(data.draw(st.integers(0, 2))):
            newcomer = _pod({"metadata": {"labels": data.draw(labels)}}, 100 + 10 * position + number)
            added.append((position, cluster.templates.info(newcomer)))
            mine.append(newcomer)
        expected.append(plain_filter(info.pod, names[row], World(world.nodes, world.pods | {names[row]: mine})))
    rows = np.array([row for row, _ in gone], dtype=np.intp), np.array([at for _, at in gone], dtype=np.intp)
    supposed = cluster.view().at(positions, WhatIf.added(added) | WhatIf.removed(cluster.pods, *rows))
    verdict = plugin.filter_nodes(CycleState(info), info.template, supposed)
    assert [WORDS[verdict.status(i, "").message] for i in range(len(supposed))] == expected
