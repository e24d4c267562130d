"""Which pods are where, as far as the scheduler knows, with the pods that it has placed but not seen bound yet.

                    assume                  add (seen bound)
        initial ───────────► assumed ─────────────────────────► added ◄──┐ update
           ▲                  │  │ │                              │ └────┘
           │      forget      │  │ │ finish_binding               │
           ├──────────────────┘  │ └──► deadline                  │ remove
           │                     │         │ time is up           │
           └─────────────────────┴─────────┴──────────────────────┘

A pod that was never assumed comes in by `add` directly. An illegal step raises `IllegalTransitionError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from kubesched.clock import Clock
from kubesched.errors import IllegalTransitionError
from kubesched.objects import Node, Pod
from kubesched.scheduler.columns import ClusterTables, PodInfo
from kubesched.scheduler.state.node_tree import NodeTree
from kubesched.scheduler.state.pod_groups import PodGroups
from kubesched.telemetry.logging import log


def on_node(pod: Pod, node_name: str) -> Pod:
    """A pod as it would be if it were bound: what queueing hints expect of an assumed pod that goes away."""
    return replace(pod, spec=replace(pod.spec, node_name=node_name))


class PodState(msgspec.Struct, eq=False, gc=False):
    info: PodInfo
    node_name: str
    assumed: bool
    deadline: float | None = None
    """When an assumed pod whose binding has finished expires, on the monotonic clock."""


@dataclass(frozen=True, slots=True)
class NodeDump:
    """A node as the cache sees it; `imaginary` if the node is gone but pods are still counted on it."""

    name: str
    imaginary: bool
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CacheDump:
    nodes: tuple[NodeDump, ...]
    assumed_pods: tuple[str, ...]


class Cache:
    """The pods' state machine over the tables of `cluster`.

    `ttl` is how long an assumed pod may wait, after its binding finished, to be seen bound; None: for ever, as
    kube-scheduler v1.36 does (an expired pod's room could be given away twice while the API server is slow).
    """

    def __init__(self, cluster: ClusterTables, clock: Clock, *, ttl: float | None = 30.0) -> None:
        self.cluster = cluster
        self.node_tree = NodeTree()
        self.pod_groups = PodGroups()
        self._clock = clock
        self._ttl = ttl
        self._pods: dict[str, PodState] = {}
        self._assumed: dict[str, PodState] = {}
        self._aside: set[str] = set()

    @property
    def expires(self) -> bool:
        """Whether assumed pods expire at all."""
        return self._ttl is not None

    @property
    def pod_count(self) -> int:
        return len(self._pods)

    @property
    def assumed_count(self) -> int:
        return len(self._assumed)

    # ---- pods -------------------------------------------------------------------------------------------------

    def assume(self, info: PodInfo, node_name: str) -> None:
        """The scheduler has chosen a node; from now on the pod counts there."""
        uid = info.uid
        known = self._pods.get(uid)
        if known is not None:
            how = "assumed on" if known.assumed else "bound to"
            raise IllegalTransitionError("assume", f"pod {info.key}", f"it is already {how} {known.node_name}")
        self.cluster.place(info, node_name)
        self._pods[uid] = self._assumed[uid] = PodState(info, node_name, assumed=True)
        if info.pod.spec.scheduling_group is not None:
            self.pod_groups.assume(info)

    def finish_binding(self, pod: Pod) -> None:
        """The binding was accepted: the time in which the pod must be seen bound starts."""
        state = self._assumed.get(pod.metadata.uid)
        if state is not None and self._ttl is not None:
            state.deadline = self._clock.monotonic() + self._ttl

    def forget(self, pod: Pod) -> None:
        """The binding failed: the pod no longer counts. A pod that is gone already is forgotten, too."""
        state = self._pods.get(pod.metadata.uid)
        if state is None:
            return
        if not state.assumed:
            raise IllegalTransitionError("forget", f"pod {pod.key}", f"it is bound to {state.node_name}, not assumed")
        self._drop(pod.metadata.uid)
        self.pod_groups.forget(state.info)

    def add(self, info: PodInfo) -> None:
        """A pod was seen bound: a confirmation if it was assumed, on whatever node."""
        uid, spec = info.uid, info.pod.spec
        state, node_name = self._pods.get(uid), spec.node_name
        if spec.scheduling_group is not None:
            self.pod_groups.assign(info)
        if state is None:
            self.cluster.place(info, node_name)
            self._pods[uid] = PodState(info, node_name, assumed=False)
            return
        if not state.assumed:
            raise IllegalTransitionError("add", f"pod {info.key}", f"it is already bound to {state.node_name}")
        if state.node_name != node_name:
            log.info(
                "Pod was bound to another node than assumed", pod=info.key, assumed=state.node_name, node=node_name
            )
        self._renew(state, info)
        state.assumed, state.deadline = False, None
        del self._assumed[uid]

    def update(self, info: PodInfo) -> None:
        """A bound pod has changed. Kubernetes never moves a pod; if it did, the newest node counts."""
        state = self._pods.get(info.uid)
        if state is None:
            raise IllegalTransitionError("update", f"pod {info.key}", "it is not in the cache")
        if state.assumed:
            raise IllegalTransitionError("update", f"pod {info.key}", f"it is only assumed on {state.node_name}")
        if state.node_name != info.pod.spec.node_name:
            log.error("Pod moved to another node", pod=info.key, old=state.node_name, new=info.pod.spec.node_name)
        self._renew(state, info)

    def remove(self, pod: Pod) -> None:
        """A pod was deleted, or ran to its end."""
        if pod.metadata.uid not in self._pods:
            raise IllegalTransitionError("remove", f"pod {pod.key}", "it is not in the cache")
        self._drop(pod.metadata.uid)
        self.pod_groups.remove(pod)

    def contains(self, uid: str) -> bool:
        return uid in self._pods

    def is_assumed(self, uid: str) -> bool:
        return uid in self._assumed

    def node_of(self, uid: str) -> str | None:
        state = self._pods.get(uid)
        return state.node_name if state is not None else None

    def get(self, uid: str) -> PodInfo | None:
        state = self._pods.get(uid)
        return state.info if state is not None else None

    def expire_assumed(self) -> list[Pod]:
        """Forget assumed pods whose time is up; returns them with the node that they were to be on."""
        now = self._clock.monotonic()
        expired = [s for s in self._assumed.values() if s.deadline is not None and s.deadline <= now]
        for state in expired:
            log.warning("Pod expired: its binding finished, but it was never seen bound", pod=state.info.key)
            self._drop(state.info.uid)
            self.pod_groups.forget(state.info)
        return [on_node(state.info.pod, state.node_name) for state in expired]

    def set_aside(self, uid: str) -> None:
        """A pod stays where it is, but does not count there until it is put back. A pod that is gone is ignored."""
        if uid in self._pods and uid not in self._aside:
            self._aside.add(uid)
            self.cluster.displace(uid)

    def put_back(self, uid: str) -> None:
        """A pod that was set aside counts again, as it is now. One that is gone in the meantime is ignored."""
        if uid in self._aside:
            self._aside.discard(uid)
            state = self._pods[uid]
            self.cluster.place(state.info, state.node_name)

    def _renew(self, state: PodState, info: PodInfo) -> None:
        """A newer version of a pod that has a node, maybe a different one than before."""
        node_name = info.pod.spec.node_name
        if info.uid not in self._aside:
            if state.node_name != node_name:
                self.cluster.displace(info.uid)
                self.cluster.place(info, node_name)
            else:
                self.cluster.replace(info)
        state.info, state.node_name = info, node_name

    def _drop(self, uid: str) -> None:
        del self._pods[uid]
        self._assumed.pop(uid, None)
        if uid in self._aside:
            self._aside.discard(uid)
        else:
            self.cluster.displace(uid)

    # ---- nodes ------------------------------------------------------------------------------------------------

    def add_node(self, node: Node) -> None:
        self.cluster.set_node(node)
        self.node_tree.add(node)

    def update_node(self, node: Node) -> None:
        self.cluster.set_node(node)
        self.node_tree.add(node)

    def remove_node(self, name: str) -> None:
        """The node's pods are removed by events of their own; until then the node is imaginary."""
        row = self.cluster.nodes.row_of.get(name)
        if row is None or self.cluster.nodes.nodes[row] is None:
            raise IllegalTransitionError("remove", f"node {name}", "it is not in the cache")
        self.cluster.remove_node(name)
        self.node_tree.remove(name)

    # ---- looking in ---------------------------------------------------------------------------------------------

    def pods(self) -> Iterator[PodState]:
        return iter(self._pods.values())

    def dump(self) -> CacheDump:
        table, pods = self.cluster.nodes, self.cluster.pods
        nodes = (
            NodeDump(name, table.nodes[row] is None, tuple(info.key for info in pods.on_node(row)))
            for name, row in sorted(table.row_of.items())
        )
        return CacheDump(tuple(nodes), tuple(sorted(state.info.key for state in self._assumed.values())))
