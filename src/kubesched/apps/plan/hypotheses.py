"""What might be done to a cluster: typed values that act on a state, in the order in which they are given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from kubesched.apps.inputs.new_nodes import new_node, stays_with_node
from kubesched.apps.plan.state import State
from kubesched.apps.plan.workloads import (
    Workload,
    deletion_order,
    parse_workload,
    pods_of,
    replacement,
)
from kubesched.clock import utc
from kubesched.errors import ConfigurationError
from kubesched.objects import Node, Pod
from kubesched.objects.affinity import Taint
from kubesched.objects.quantity import Quantity
from kubesched.objects.tolerations import tolerates_taint


class Hypothesis(Protocol):
    """`str` of it says what is done, as a heading of its report. ConfigurationError if it makes no sense here."""

    def apply(self, state: State) -> None: ...


class Drain(msgspec.Struct, frozen=True):
    """As `kubectl drain --ignore-daemonsets --force`: cordon, then evict within budgets. A name or a selector."""

    nodes: str

    def __str__(self) -> str:
        return f"drain {self.nodes}"

    def apply(self, state: State) -> None:
        nodes = state.nodes(self.nodes)
        state.cordon(nodes)
        for node in nodes:
            state.evict(state.simulation.pods_on(node.metadata.name), "evicted")


class Remove(msgspec.Struct, frozen=True):
    """The nodes fail or are deleted: what ran there starts elsewhere, whatever budgets say."""

    nodes: str

    def __str__(self) -> str:
        return f"remove {self.nodes}"

    def apply(self, state: State) -> None:
        state.lose(state.nodes(self.nodes), "lost with its node")


class Cordon(msgspec.Struct, frozen=True):
    """No new pods go to the nodes."""

    nodes: str

    def __str__(self) -> str:
        return f"cordon {self.nodes}"

    def apply(self, state: State) -> None:
        state.cordon(state.nodes(self.nodes))


class Uncordon(msgspec.Struct, frozen=True):
    """Cordoned nodes take new pods again."""

    nodes: str

    def __str__(self) -> str:
        return f"uncordon {self.nodes}"

    def apply(self, state: State) -> None:
        state.uncordon(state.nodes(self.nodes))


class ChangePod(msgspec.Struct, frozen=True):
    """A pod that waits is replaced by a changed one. `change` says what is different: `had priority 10`."""

    pod: Pod
    change: str

    def __str__(self) -> str:
        return f"{self.pod.key}, if it {self.change}"

    def apply(self, state: State) -> None:
        known = state.simulation.get(Pod, self.pod.key)
        if known is None or known.spec.node_name:
            raise ConfigurationError([f"{self.pod.key} does not wait"])
        state.simulation.remove(known)
        state.simulation.add(self.pod)


class AddNodes(msgspec.Struct, frozen=True):
    """More nodes like one that is there, with its DaemonSets' pods, or like a manifest, which has none."""

    count: int
    like: str | Node

    def __str__(self) -> str:
        return f"add {self.count} nodes like {self.like if isinstance(self.like, str) else self.like.metadata.name}"

    def apply(self, state: State) -> None:
        if self.count < 1:
            raise ConfigurationError([f"cannot add {self.count} nodes"])
        model = state.nodes(self.like)[0] if isinstance(self.like, str) else self.like
        taken = {node.metadata.name for node in state.simulation.objects(Node)}
        names = (f"{model.metadata.name}-new-{number}" for number in range(1, self.count + len(taken) + 1))
        on_each = [pod for pod in state.simulation.pods_on(model.metadata.name) if stays_with_node(pod)]
        for name in [name for name in names if name not in taken][: self.count]:
            state.simulation.add(new_node(model, name))
            state.simulation.add(*(_on_new_node(pod, name, state) for pod in on_each))


class ChangeNode(msgspec.Struct, frozen=True):
    """Other labels, taints or allocatable resources; None takes a label or a taint (by its key) away.

    Pods that do not tolerate a new NoExecute taint are evicted, whatever budgets say.
    """

    nodes: str
    labels: dict[str, str | None] = {}
    taints: dict[str, Taint | None] = {}
    allocatable: dict[str, str] = {}

    def __str__(self) -> str:
        labels = [f"{key}={value}" if value is not None else f"{key}-" for key, value in self.labels.items()]
        taints = [f"taint {key}:{taint.effect}" if taint else f"taint {key}-" for key, taint in self.taints.items()]
        amounts = [f"{name}={amount}" for name, amount in self.allocatable.items()]
        return f"change {self.nodes}: {', '.join((*labels, *taints, *amounts))}"

    def apply(self, state: State) -> None:
        nodes = state.nodes(self.nodes)
        state.simulation.add(*map(self._changed, nodes))
        expelling = [taint for taint in self.taints.values() if taint is not None and taint.effect == "NoExecute"]
        for node in nodes:
            pods = state.simulation.pods_on(node.metadata.name)
            state.let_go([pod for pod in pods if _is_expelled(pod, expelling)], "evicted by a taint")

    def _changed(self, node: Node) -> Node:
        labels = {**node.metadata.labels, **self.labels}
        taints = [taint for taint in node.spec.taints if taint.key not in self.taints]
        taints += [taint for taint in self.taints.values() if taint is not None]
        try:
            amounts = {name: Quantity.parse(amount) for name, amount in self.allocatable.items()}
        except ValueError as error:
            raise ConfigurationError([f"{self}: {error}"]) from error
        return replace(
            node,
            metadata=replace(node.metadata, labels={k: v for k, v in labels.items() if v is not None}),
            spec=replace(node.spec, taints=tuple(taints)),
            status=replace(node.status, allocatable={**node.status.allocatable, **amounts}),
        )


class Scale(msgspec.Struct, frozen=True):
    """A workload (`deploy/web`, `ns/sts/db`) gets as many pods; new ones are like those that it has."""

    workload: str
    replicas: int

    def __str__(self) -> str:
        return f"scale {self.workload} to {self.replicas}"

    def apply(self, state: State) -> None:
        workload = parse_workload(self.workload)
        if workload.kind in ("Pod", "Node", "DaemonSet"):
            raise ConfigurationError([f"{self.workload} cannot be scaled"])
        if self.replicas < 0:
            raise ConfigurationError([f"cannot scale {self.workload} to {self.replicas}"])
        pods = [pod for pod in pods_of(workload, state.simulation) if not pod.is_terminating]
        if not pods:
            raise ConfigurationError(
                [f"{self.workload} has no pod that more could be like: apply its manifest instead"]
            )
        if len(pods) > self.replicas:
            state.delete(_to_delete(workload, pods)[: len(pods) - self.replicas], "scaled down")
        else:
            state.simulation.add(*_more(workload, pods, self.replicas - len(pods), state))


class Delete(msgspec.Struct, frozen=True):
    """A workload with its pods (`deploy/web`), a pod, which its controller makes again, or a node."""

    what: str

    def __str__(self) -> str:
        return f"delete {self.what}"

    def apply(self, state: State) -> None:
        workload = parse_workload(self.what)
        if workload.kind == "Node":
            state.lose(state.nodes(workload.name), "lost with its node")
            return
        pods = pods_of(workload, state.simulation)
        if not pods:
            raise ConfigurationError([f"{self.what}: there is no such pod or workload with pods"])
        if workload.kind == "Pod":
            state.let_go(pods, "deleted")
        else:
            state.delete(pods, "deleted")


class Apply(msgspec.Struct, frozen=True):
    """Objects are added, or replace those of their name. `source` says where they come from."""

    objects: Sequence[Any]
    source: str = "manifests"

    def __str__(self) -> str:
        return f"apply {self.source}"

    def apply(self, state: State) -> None:
        state.simulation.add(*self.objects)


class Configure(msgspec.Struct, frozen=True):
    """A scheduler with another configuration decides from here on."""

    config: Path | str
    """A file, or the text of a configuration."""

    def __str__(self) -> str:
        return f"configure with {self.config.name if isinstance(self.config, Path) else 'another text'}"

    def apply(self, state: State) -> None:
        state.configure(self.config)


def _on_new_node(pod: Pod, node_name: str, state: State) -> Pod:
    """The pod that a DaemonSet would have there; its affinity to one node does not matter once it is bound."""
    copy = replacement(pod, utc(state.simulation.clock), name=f"{pod.metadata.name}-{node_name}")
    return replace(copy, spec=replace(copy.spec, node_name=node_name), status=replace(copy.status, phase="Running"))


def _is_expelled(pod: Pod, taints: Sequence[Taint]) -> bool:
    return any(not any(tolerates_taint(one, taint) for one in pod.spec.tolerations) for taint in taints)


def _to_delete(workload: Workload, pods: Sequence[Pod]) -> list[Pod]:
    if workload.kind == "StatefulSet":
        return sorted(pods, key=_ordinal, reverse=True)
    nodes = [pod.spec.node_name for pod in pods]
    return sorted(pods, key=lambda pod: deletion_order(pod, nodes.count(pod.spec.node_name)))


def _more(workload: Workload, pods: Sequence[Pod], count: int, state: State) -> list[Pod]:
    """Copies of the newest pod."""
    now = utc(state.simulation.clock)
    model = max(pods, key=lambda pod: (pod.metadata.creation_timestamp or now, pod.key))
    taken = {pod.metadata.name for pod in pods}
    first = max(map(_ordinal, pods)) + 1 if workload.kind == "StatefulSet" else 1
    base = f"{workload.name}-" if workload.kind == "StatefulSet" else f"{workload.name}-new-"
    names = [f"{base}{number}" for number in range(first, first + count + len(taken))]
    return [replacement(model, now, name=name) for name in names if name not in taken][:count]


def _ordinal(pod: Pod) -> int:
    last = pod.metadata.name.rpartition("-")[2]
    return int(last) if last.isdigit() else -1
