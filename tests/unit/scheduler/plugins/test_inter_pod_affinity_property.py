"""InterPodAffinity against a plain formulation of its rules, one node at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.plugin_args import InterPodAffinityArgs
from kubesched.objects import Namespace, Node, Pod
from kubesched.objects.codec import convert
from kubesched.scheduler.columns import PodInfo, WhatIf
from kubesched.scheduler.framework import CycleState
from kubesched.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from kubesched.testing.handle import FakeHandle

NAMESPACES = {"east": {"team": "a"}, "west": {"team": "b"}, "wild": {}}
HARD_WEIGHT = 7

# ---- the plain formulation ---------------------------------------------------------------------------------------


@dataclass
class World:
    """Nodes' labels by name, and the pods on each."""

    labels: Mapping[str, Mapping[str, str]]
    pods: dict[str, list[Pod]] = field(default_factory=dict)

    def placed(self) -> Iterable[tuple[Pod, str]]:
        return ((pod, node) for node, pods in self.pods.items() for pod in pods)


def _terms(pod: Pod, kind: str, when: str) -> list[tuple[int, Any]]:
    affinity = pod.spec.affinity
    part = getattr(affinity, kind) if affinity else None
    if part is None:
        return []
    if when == "required":
        return [(1, term) for term in part.required_during_scheduling_ignored_during_execution]
    return [(item.weight, item.pod_affinity_term) for item in part.preferred_during_scheduling_ignored_during_execution]


def _speaks_of(term: Any, owner: Pod, other: Pod) -> bool:
    if not _selects(term.label_selector, other.metadata.labels):
        return False
    if not term.namespaces and term.namespace_selector is None:
        return owner.metadata.namespace == other.metadata.namespace
    if other.metadata.namespace in term.namespaces:
        return True
    labels = NAMESPACES.get(other.metadata.namespace, {})
    return _selects(term.namespace_selector, labels)


def _selects(selector: Any, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    absent = [expression.key for expression in selector.match_expressions]  # DoesNotExist is all that is drawn
    return selector.match_labels.items() <= labels.items() and not any(key in labels for key in absent)


def plain_filter(pod: Pod, node: str, world: World) -> str:
    here = world.labels[node]
    affinity = [term for _, term in _terms(pod, "pod_affinity", "required")]
    friends = [
        (other, world.labels[where])
        for other, where in world.placed()
        if all(_speaks_of(term, pod, other) for term in affinity)
    ]
    if any(term.topology_key not in here for term in affinity):
        return "affinity"
    has_company = all(
        any(labels.get(term.topology_key) == here[term.topology_key] for _, labels in friends) for term in affinity
    )
    if not has_company:
        seen = any(term.topology_key in labels for _, labels in friends for term in affinity)
        if seen or not all(_speaks_of(term, pod, pod) for term in affinity):
            return "affinity"
    for _, term in _terms(pod, "pod_anti_affinity", "required"):
        for other, where in world.placed():
            if _is_near(term, here, world.labels[where]) and _speaks_of(term, pod, other):
                return "anti-affinity"
    for other, where in world.placed():
        for _, term in _terms(other, "pod_anti_affinity", "required"):
            if _is_near(term, here, world.labels[where]) and _speaks_of(term, other, pod):
                return "existing"
    return ""


def _is_near(term: Any, here: Mapping[str, str], there: Mapping[str, str]) -> bool:
    return term.topology_key in here and here[term.topology_key] == there.get(term.topology_key)


def plain_scores(pod: Pod, nodes: list[str], world: World) -> list[int] | None:
    """Normalised; None for Skip."""
    raw = dict.fromkeys(nodes, 0)
    anything = False
    for other, where in world.placed():
        said = [
            *((weight, term, pod, other) for weight, term in _terms(pod, "pod_affinity", "preferred")),
            *((-weight, term, pod, other) for weight, term in _terms(pod, "pod_anti_affinity", "preferred")),
            *((HARD_WEIGHT, term, other, pod) for _, term in _terms(other, "pod_affinity", "required")),
            *((weight, term, other, pod) for weight, term in _terms(other, "pod_affinity", "preferred")),
            *((-weight, term, other, pod) for weight, term in _terms(other, "pod_anti_affinity", "preferred")),
        ]
        for weight, term, owner, target in said:
            there = world.labels[where]
            if term.topology_key in there and _speaks_of(term, owner, target):
                anything = True
                for node in nodes:
                    raw[node] += weight if _is_near(term, world.labels[node], there) else 0
    if not anything:
        return None
    least, largest = min(raw.values()), max(raw.values())
    return [int(100 * ((raw[node] - least) / (largest - least))) if largest > least else 0 for node in nodes]


# ---- random clusters ---------------------------------------------------------------------------------------------

# What is drawn often is repeated: most pods and terms must have to do with each other, or nothing is tested.

X = {"matchLabels": {"app": "x"}}
HAS_NO_TIER = {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}
HAS_NO_TEAM = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}

labels = st.sampled_from([{"app": "x"}, {"app": "x"}, {"app": "x", "tier": "x"}, {"app": "y"}, {}])
terms = st.builds(
    lambda selector, namespaces, namespace_selector, key: {
        "labelSelector": selector,
        "namespaces": namespaces,
        "namespaceSelector": namespace_selector,
        "topologyKey": key,
    },
    st.sampled_from([X, X, X, {"matchLabels": {"app": "y"}}, HAS_NO_TIER, {}, None]),
    st.sampled_from([[], [], [], ["east"], ["east", "west"], ["unknown"]]),
    st.sampled_from([None, None, None, None, {}, {"matchLabels": {"team": "a"}}, HAS_NO_TEAM]),
    st.sampled_from(["zone", "host"]),
)
weighted = st.builds(lambda weight, term: {"weight": weight, "podAffinityTerm": term}, st.integers(1, 100), terms)
parts = st.builds(
    lambda required, preferred: {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": preferred,
    },
    st.lists(terms, max_size=2),
    st.lists(weighted, max_size=2),
)
affinities = st.sampled_from([(), ("podAffinity",), ("podAntiAffinity",), ("podAffinity", "podAntiAffinity")]).flatmap(
    lambda kinds: st.fixed_dictionaries(dict.fromkeys(kinds, parts))
)
pods = st.builds(
    lambda namespace, found, affinity: {
        "metadata": {"namespace": namespace, "labels": found},
        "spec": {"affinity": affinity},
    },
    st.sampled_from(["east", "east", "east", "west", "wild", "unknown"]),
    labels,
    affinities,
)
nodes = st.lists(st.sampled_from([{"zone": "a"}, {"zone": "b"}, {"zone": "c"}, {"rack": "r"}]), min_size=2, max_size=5)


def _without_nulls(source: Any) -> Any:
    if isinstance(source, dict):
        return {key: _without_nulls(value) for key, value in source.items() if value is not None}
    return [_without_nulls(item) for item in source] if isinstance(source, list) else source


def _pod(source: Any, uid: int) -> Pod:
    metadata = source["metadata"] | {"name": f"pod-{uid}", "uid": f"uid-{uid}"}
    return convert(_without_nulls(source | {"metadata": metadata}), Pod)


def _loaded(node_labels: list[dict[str, str]]) -> tuple[FakeHandle, World]:
    handle = FakeHandle()
    by_name = {f"node-{i}": found | ({"host": f"h{i}"} if i != 3 else {}) for i, found in enumerate(node_labels)}
    handle.load(*(convert({"metadata": {"name": name, "labels": found}}, Node) for name, found in by_name.items()))
    handle.load(
        *(convert({"metadata": {"name": name, "labels": found}}, Namespace) for name, found in NAMESPACES.items())
    )
    return handle, World(by_name, {name: [] for name in by_name})


@settings(max_examples=150, deadline=None)
@given(nodes, st.lists(st.tuples(st.integers(0, 4), pods), min_size=1, max_size=6), pods, st.data())
def test_filter_and_score_agree_with_the_plain_formulation(
    node_labels: list[dict[str, str]], placed: list[tuple[int, Any]], incoming: Any, data: st.DataObject
) -> None:
    """All rows, few rows, after placements and removals one by one, and with pods added and removed hypothetically."""
    handle, world = _loaded(node_labels)
    names = list(world.labels)
    plugin = InterPodAffinity(InterPodAffinityArgs(hard_pod_affinity_weight=HARD_WEIGHT), handle)
    info = handle.cluster.templates.info(_pod(incoming, 0))
    for uid, (where, source) in enumerate(placed, 1):
        _ask(plugin, handle, info)  # so that counts are kept, and changed by what follows
        pod, node = _pod(source, uid), names[where % len(names)]
        handle.cluster.place(handle.cluster.templates.info(pod), node)
        world.pods[node].append(pod)
    for name in names:
        if data.draw(st.booleans()) and world.pods[name]:
            handle.cluster.displace(world.pods[name].pop(0).metadata.uid)
    statuses, scores = _ask(plugin, handle, info)
    assert statuses == [plain_filter(info.pod, name, world) for name in names]
    assert scores == plain_scores(info.pod, names, world)
    _compare_what_if(plugin, handle, info, world, data)


WORDS = {
    "node(s) didn't match pod affinity rules": "affinity",
    "node(s) didn't match pod anti-affinity rules": "anti-affinity",
    "node(s) didn't satisfy existing pods anti-affinity rules": "existing",
}


def _ask(plugin: InterPodAffinity, handle: FakeHandle, info: PodInfo) -> tuple[list[str], list[int] | None]:
    state, view = CycleState(info), handle.cluster.view()
    plugin.external_version(info.template)
    if plugin.pre_filter(state, info, view).is_skip:
        statuses = [""] * len(view)
    else:
        verdict = plugin.filter_nodes(state, info.template, view)
        statuses = [WORDS.get(verdict.status(i, "").message, "") for i in range(len(view))]
    if plugin.pre_score(state, info, view).is_skip:
        return statuses, None
    raw = plugin.score_nodes(state, info.template, view)
    few = view.at(np.arange(0, len(view), 2))
    assert plugin.score_nodes(state, info.template, few).tolist() == raw[::2].tolist()
    return statuses, plugin.normalize_scores(state, info.template, raw).tolist()


def _compare_what_if(
    plugin: InterPodAffinity, handle: FakeHandle, info: PodInfo, world: World, data: st.DataObject
) -> None:
    """Each row of the view is a world of its own, in which one pod has gone and another has come."""
    names, cluster = list(world.labels), handle.cluster
    positions = np.arange(len(names) - 1, -1, -1)
    view = cluster.view().at(positions)
    added, removed = [], []
    expected = []
    for position, row in enumerate(positions.tolist()):
        mine = list(world.pods[names[row]])
        if data.draw(st.booleans()) and mine:
            removed.append((cluster.pods.row_of(mine.pop().metadata.uid), position))
        if data.draw(st.booleans()):
            newcomer = _pod(data.draw(pods), 100 + position)
            added.append((position, cluster.templates.info(newcomer)))
            mine.append(newcomer)
        expected.append(plain_filter(info.pod, names[row], World(world.labels, world.pods | {names[row]: mine})))
    gone = np.array([row for row, _ in removed], dtype=np.intp), np.array([at for _, at in removed], dtype=np.intp)
    supposed = view.supposing(WhatIf.added(added) | WhatIf.removed(cluster.pods, *gone))
    if plugin.pre_filter(CycleState(info), info, cluster.view()).is_skip:
        return
    verdict = plugin.filter_nodes(CycleState(info), info.template, supposed)
    assert [WORDS.get(verdict.status(i, "").message, "") for i in range(len(view))] == expected
