"""Whatever happens, every pod counts in exactly one place, and all sums are those of the pods that are there.

Pods that are set aside count nowhere.

The cache runs beside a model that keeps pods and nodes in plain dictionaries and adds everything up each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kubesched.clock import VirtualClock
from kubesched.errors import IllegalTransitionError
from kubesched.objects import Node, Pod
from kubesched.scheduler.columns import ClusterTables, PodCount
from kubesched.scheduler.state.cache import Cache
from kubesched.scheduler.state.comparer import compare
from kubesched.scheduler.state.snapshot import Snapshot
from kubesched.testing.builders import ZONE_LABEL, make_node, make_pod

NODES = tuple(f"n{i}" for i in range(6))
PODS = tuple(f"p{i}" for i in range(12))
TTL = 30.0
KINDS: dict[str, dict[str, Any]] = {
    "small": {"cpu": "100m", "memory": "64Mi", "labels": {"app": "web"}},
    "large": {"cpu": "2", "memory": "1Gi", "labels": {"app": "db"}},
    "gpu": {"requests": {"example.com/gpu": 1}, "labels": {"app": "web"}},
    "empty": {},
}
APPS = ("web", "db")


@dataclass
class Placed:
    """What the model knows of a pod."""

    pod: Pod
    node: str
    assumed: bool
    deadline: float | None = None


kinds = st.sampled_from(sorted(KINDS))
names = st.sampled_from(PODS)
node_names = st.sampled_from(NODES)
nodes = st.builds(make_node, node_names, zone=st.sampled_from(("", "a", "b")), cpu=st.sampled_from(("1", "4")))


class CacheMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock()
        self.cluster = ClusterTables()
        self.cache = Cache(self.cluster, self.clock, ttl=TTL)
        self.snapshot = Snapshot(self.cache)
        self.pods: dict[str, Placed] = {}
        self.aside: set[str] = set()
        self.nodes: dict[str, Node] = {}
        self.counts = {app: self._count(app, terminating=True) for app in APPS}
        self.living = {app: self._count(app, terminating=False) for app in APPS}

    def _count(self, app: str, *, terminating: bool) -> PodCount:
        return self.cluster.view().count(
            ("test", app, terminating),
            lambda placed: int(placed.labels.get("app") == app),
            counts_terminating=terminating,
            tags=[("app", app)] if terminating else None,
        )

    def _attempt(self, is_legal: bool, step: Callable[[], None]) -> bool:
        """Take a step, or see it refused. True if it was taken."""
        if is_legal:
            step()
        else:
            with pytest.raises(IllegalTransitionError):
                step()
        return is_legal

    def _counting(self) -> list[Placed]:
        return [placed for uid, placed in self.pods.items() if uid not in self.aside]

    def _make(self, name: str, kind: str, **more: Any) -> Pod:
        return make_pod(name, **{**KINDS[kind], **more})

    # pods

    @rule(name=names, kind=kinds, node=node_names)
    def assume(self, name: str, kind: str, node: str) -> None:
        pod = self._make(name, kind)
        info = self.cluster.templates.info(pod)
        if self._attempt(info.uid not in self.pods, lambda: self.cache.assume(info, node)):
            self.pods[info.uid] = Placed(pod, node, assumed=True)

    @rule(name=names)
    def finish_binding(self, name: str) -> None:
        pod = make_pod(name)
        self.cache.finish_binding(pod)
        known = self.pods.get(pod.metadata.uid)
        if known is not None and known.assumed:
            known.deadline = self.clock.monotonic() + TTL

    @rule(name=names)
    def forget(self, name: str) -> None:
        pod = make_pod(name)
        known = self.pods.get(pod.metadata.uid)
        if self._attempt(known is None or known.assumed, lambda: self.cache.forget(pod)):
            self.pods.pop(pod.metadata.uid, None)
            self.aside.discard(pod.metadata.uid)

    @rule(name=names, kind=kinds, node=node_names, deleting=st.booleans())
    def add(self, name: str, kind: str, node: str, deleting: bool) -> None:
        pod = self._make(name, kind, node=node, deleting=deleting)
        known = self.pods.get(pod.metadata.uid)
        is_legal = known is None or known.assumed
        if self._attempt(is_legal, lambda: self.cache.add(self.cluster.templates.info(pod))):
            self.pods[pod.metadata.uid] = Placed(pod, node, assumed=False)

    @rule(name=names, kind=kinds, node=st.none() | node_names, deleting=st.booleans())
    def update(self, name: str, kind: str, node: str | None, deleting: bool) -> None:
        """Almost always on the node where it is."""
        known = self.pods.get(make_pod(name).metadata.uid)
        pod = self._make(name, kind, node=node or (known.node if known else NODES[0]), deleting=deleting)
        is_legal = known is not None and not known.assumed
        if self._attempt(is_legal, lambda: self.cache.update(self.cluster.templates.info(pod))):
            self.pods[pod.metadata.uid] = Placed(pod, pod.spec.node_name, assumed=False)

    @rule(name=names)
    def remove(self, name: str) -> None:
        pod = make_pod(name)
        if self._attempt(pod.metadata.uid in self.pods, lambda: self.cache.remove(pod)):
            del self.pods[pod.metadata.uid]
            self.aside.discard(pod.metadata.uid)

    @rule(name=names)
    def set_aside(self, name: str) -> None:
        uid = make_pod(name).metadata.uid
        self.cache.set_aside(uid)
        self.aside |= {uid} & self.pods.keys()

    @rule(name=names)
    def put_back(self, name: str) -> None:
        uid = make_pod(name).metadata.uid
        self.cache.put_back(uid)
        self.aside.discard(uid)

    @rule(seconds=st.sampled_from((1.0, 20.0, 31.0)))
    def time_passes(self, seconds: float) -> None:
        self.clock.tick(seconds)
        now = self.clock.monotonic()
        due = {uid for uid, p in self.pods.items() if p.assumed and p.deadline is not None and p.deadline <= now}
        assert {pod.metadata.uid for pod in self.cache.expire_assumed()} == due
        for uid in due:
            del self.pods[uid]
        self.aside -= due

    # nodes

    @rule(node=nodes)
    def set_node(self, node: Node) -> None:
        (self.cache.update_node if node.metadata.name in self.nodes else self.cache.add_node)(node)
        self.nodes[node.metadata.name] = node

    @rule(name=node_names)
    def remove_node(self, name: str) -> None:
        if self._attempt(name in self.nodes, lambda: self.cache.remove_node(name)):
            del self.nodes[name]

    @rule()
    def the_table_grows(self) -> None:
        """Past its first capacity, and back."""
        for k in range(70):
            self.cache.add_node(make_node(f"crowd{k}", zone="c"))
        for k in range(70):
            self.cache.remove_node(f"crowd{k}")

    @rule()
    def refresh(self) -> None:
        self.snapshot.refresh()
        assert {info.name for info in self.snapshot.all()} == set(self.nodes)
        for name in NODES:
            seen = self.snapshot.get(name)
            assert (seen is not None) == (name in self.nodes), name
            if seen is not None:
                assert seen.node == self.nodes[name]
                assert sorted(p.metadata.name for p in seen.pods) == sorted(
                    p.pod.metadata.name for p in self._counting() if p.node == name
                )

    # what must hold

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        assert {s.info.uid: (s.node_name, s.assumed) for s in self.cache.pods()} == {
            uid: (placed.node, placed.assumed) for uid, placed in self.pods.items()
        }
        on_nodes = [p.uid for row in self.cluster.nodes.row_of.values() for p in self.cluster.pods.on_node(row)]
        assert sorted(on_nodes) == sorted(self.pods.keys() - self.aside)
        for uid, placed in self.pods.items():
            assert self.cache.contains(uid)
            assert self.cache.is_assumed(uid) is placed.assumed
            assert self.cache.node_of(uid) == placed.node
        assert self.cache.pod_count == len(self.pods) == len(self.cluster.pods) + len(self.aside)

    @invariant()
    def sums_are_those_of_the_pods(self) -> None:
        table = self.cluster.nodes
        for name in NODES:
            infos = [self.cluster.templates.info(p.pod) for p in self._counting() if p.node == name]
            row = table.row_of.get(name)
            assert (row is not None) == (name in self.nodes or bool(infos)), name
            if row is None:
                continue
            requested: Counter[str] = Counter()
            for info in infos:
                requested.update(info.template.requests)
            kept = {key: int(column[row]) for key, column in zip(table.resources.values, table.requested, strict=False)}
            assert {key: amount for key, amount in kept.items() if amount} == {k: v for k, v in requested.items() if v}
            assert table.pod_count[row] == len(infos)
            assert table.nonzero_cpu[row] == sum(info.template.nonzero_cpu for info in infos)
            assert table.nonzero_memory[row] == sum(info.template.nonzero_memory for info in infos)

    @invariant()
    def unused_rows_are_clean(self) -> None:
        table = self.cluster.nodes
        used = set(table.row_of.values())
        assert len(used) == len(table.row_of)
        for row in set(range(table.capacity)) - used:
            assert not table.exists[row]
            assert not table.pod_count[row]
            assert not any(column[row] for column in (*table.requested, *table.allocatable))
            assert all(column.ids[row] == -1 for column in table.labels.values())

    @invariant()
    def nodes_are_those_that_exist(self) -> None:
        table = self.cluster.nodes
        assert {node.metadata.name for _, node in table.existing()} == set(self.nodes)
        assert table.node_count == int(table.exists.sum()) == len(self.nodes) == len(self.cache.node_tree)
        assert sorted(self.cache.node_tree.order()) == sorted(self.nodes)
        dump = {node.name: node for node in self.cache.dump().nodes}
        homeless = {placed.node for placed in self._counting()} - set(self.nodes)
        assert {name for name, node in dump.items() if node.imaginary} == homeless
        assert compare(self.cache, [], self.nodes.values(), [p.pod for p in self.pods.values()]).agrees

    @invariant()
    def counts_are_those_of_the_pods(self) -> None:
        zones = self.cluster.nodes.label(ZONE_LABEL)
        for app in APPS:
            for counts, terminating in ((self.counts, True), (self.living, False)):
                counted = [
                    placed
                    for placed in self._counting()
                    if placed.pod.metadata.labels.get("app") == app and (terminating or not placed.pod.is_terminating)
                ]
                per_node = Counter(placed.node for placed in counted)
                count = counts[app]
                assert count.total == len(counted)
                assert {name: int(count.rows[row]) for name, row in self.cluster.nodes.row_of.items()} == {
                    name: per_node[name] for name in self.cluster.nodes.row_of
                }
                zone_of = {name: node.metadata.labels.get(ZONE_LABEL) for name, node in self.nodes.items()}
                per_zone = Counter(zone for p in counted if (zone := zone_of.get(p.node)) is not None)
                sums = count.per_domain(zones)
                assert sums[-1] == 0
                in_use = {zone for zone in zone_of.values() if zone is not None}
                assert {z: int(sums[zones.id_of(z)]) for z in in_use} == {z: per_zone[z] for z in in_use}
                assert sums.sum() == per_zone.total(), "ids that no node has count nothing"


TestCache = CacheMachine.TestCase
TestCache.settings = settings(max_examples=60, stateful_step_count=50, deadline=None, derandomize=True)
