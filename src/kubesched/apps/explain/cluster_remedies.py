"""What would let a pod run that fits nowhere, besides changes of what it asks for: each is tried, then taken back.

A node that is uncordoned, well again or labelled, one more node like one that is there, an object that is missing, a
priority that lets the pod preempt others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from msgspec.structs import replace

from kubesched.apps.explain.missing_objects import missing_objects
from kubesched.apps.inputs.new_nodes import new_node, stays_with_node
from kubesched.errors import PluginError
from kubesched.objects import Node, Pod
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import Diagnosis, Status, Victims
from kubesched.scheduler.framework.cycle_state import CycleState
from kubesched.scheduler.runtime.profile import Profile

MOST_TRIED: Final = 20
"""Cordoned nodes, and kinds of nodes: the first ones by name."""
NODE_STATE: Final = "node.kubernetes.io/"
"""Taints of this kind come and go with a node's state; that of a cordoned node goes when it is opened again."""
HIGHEST_OF_USERS: Final = 1_000_000_000
"""Priorities above are the system's (scheduling.HighestUserDefinablePriority)."""
PREEMPTS: Final = "PreemptLowerPriority"


@dataclass(frozen=True, slots=True)
class ClusterRemedy:
    """One thing to do, as an instruction: `uncordon node-3`; and the nodes that would take the pod then, if known.

    For programs: `kind` is `create`, `uncordon`, `repair`, `label`, `add-node` or `priority`, and `target` the name or
    number in it.
    """

    says: str
    nodes: tuple[str, ...] = ()
    kind: str = "create"
    target: str = ""


@runtime_checkable
class ExplainsPreemption(Protocol):
    """A PostFilter plugin that can report its choice without acting on it."""

    def dry_run(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[Mapping[str, Victims], Mapping[str, Victims]]:
        """Victims by node name: (of all candidates, of those that are equally good in the end)."""
        ...

    def status_of(self, node_name: str, victims: Victims) -> Status:
        """Its answer if it takes this candidate."""
        ...


def cluster_remedies(
    assembled: Assembled, profile: Profile, pod: Pod, *, is_queued: bool = True
) -> list[ClusterRemedy]:
    """For a pod that fits nowhere now and preempts nobody; empty if none of these changes helps alone.

    One that is not even queued is helped only by what lets it into the queue.
    """
    if missing := [ClusterRemedy(says) for says in missing_objects(assembled.objects, pod)]:
        return missing  # without them, nothing else is known
    if not assembled.cache.cluster.nodes.node_count:
        return [ClusterRemedy("add a node: there is none")]
    if not is_queued:
        return []
    trial = _Trial(assembled, profile, pod)
    return [*trial.uncordoned(), *trial.ready_again(), *trial.labelled(), *trial.one_more(), *trial.preempting()]


class _Trial:
    """Changes the tables for one question at a time; they are as they were after each."""

    def __init__(self, assembled: Assembled, profile: Profile, pod: Pod) -> None:
        self._cluster = assembled.cache.cluster
        self._evaluator = assembled.evaluators[profile.name]
        self._plugins = [plugin for plugin in profile.post_filters if isinstance(plugin, ExplainsPreemption)]
        self._pod = pod
        self._nodes = sorted((node for _, node in self._cluster.nodes.existing()), key=lambda node: node.name)

    def uncordoned(self) -> Iterator[ClusterRemedy]:
        cordoned = [node for node in self._nodes if node.spec.unschedulable]
        for node in cordoned[:MOST_TRIED]:
            taints = tuple(taint for taint in node.spec.taints if taint.key != f"{NODE_STATE}unschedulable")
            changed = replace(node, spec=replace(node.spec, unschedulable=False, taints=taints))
            if names := self._taken_by_changed(node, changed):
                yield ClusterRemedy(f"uncordon {node.name}", names, "uncordon", node.name)

    def ready_again(self) -> Iterator[ClusterRemedy]:
        """Nodes that a taint of their state keeps closed: not ready, unreachable, short of memory."""
        closed = [node for node in self._nodes if not node.spec.unschedulable and _states(node)]
        for node in closed[:MOST_TRIED]:
            taints = tuple(taint for taint in node.spec.taints if not taint.key.startswith(NODE_STATE))
            if names := self._taken_by_changed(node, replace(node, spec=replace(node.spec, taints=taints))):
                says = f"get {node.name} well again: it is {', '.join(_states(node))}"
                yield ClusterRemedy(says, names, "repair", node.name)

    def labelled(self) -> Iterator[ClusterRemedy]:
        """The first node that would take the pod with the labels that it selects nodes by."""
        wanted = self._pod.spec.node_selector
        for node in self._nodes[:MOST_TRIED] if wanted else ():
            labels = {**node.metadata.labels, **wanted}
            changed = replace(node, metadata=replace(node.metadata, labels=labels))
            if labels != node.metadata.labels and (names := self._taken_by_changed(node, changed)):
                shown = " ".join(f"{key}={value}" for key, value in wanted.items())
                yield ClusterRemedy(f"label node {node.name} {shown}", names, "label", node.name)
                return

    def one_more(self) -> Iterator[ClusterRemedy]:
        """The first kind of node of which one more would do, with the pods that come with every such node."""
        kinds: dict[object, Node] = {}
        for node in self._nodes:
            kinds.setdefault(_kind(node), node)
        for model in list(kinds.values())[:MOST_TRIED]:
            if self._fits_on_another(model):
                yield ClusterRemedy(f"add a node like {model.name}", (), "add-node", model.name)
                return

    def preempting(self) -> Iterator[ClusterRemedy]:
        """The lowest priority with which it would preempt others, or none if it only has to be allowed to."""
        never = self._pod.spec.preemption_policy == "Never"
        if never and (victims := self._victims(self._pod.priority)):
            says = f"give it preemptionPolicy {PREEMPTS}: {victims}"
            yield ClusterRemedy(says, (), "priority", str(self._pod.priority))
            return
        own = self._pod.priority
        placed = {info.pod.priority for row, _ in self._cluster.nodes.existing() for info in self._on(row)}
        levels = sorted(level for level in placed if own <= level < HIGHEST_OF_USERS)
        if not levels or not self._victims(levels[-1] + 1):
            return
        enough = bisect_left(levels, True, key=lambda level: bool(self._victims(level + 1)))
        allowed = f" and preemptionPolicy {PREEMPTS}" if never else ""
        says = f"give it a priority above {levels[enough]}{allowed}: {self._victims(levels[enough] + 1)}"
        yield ClusterRemedy(says, (), "priority", str(levels[enough] + 1))

    def _taken_by(self) -> tuple[str, ...]:
        try:
            fit = self._evaluator.filter(self._cluster.templates.info(self._pod))
        except PluginError:  # a plugin that cannot decide then is no help
            return ()
        return tuple(sorted(fit.names()))

    def _taken_by_changed(self, node: Node, changed: Node) -> tuple[str, ...]:
        self._cluster.set_node(changed)
        try:
            return self._taken_by()
        finally:
            self._cluster.set_node(node)

    def _fits_on_another(self, model: Node) -> bool:
        row = self._cluster.nodes.row_of[model.name]
        name = _free_name(model.name, self._cluster.nodes.row_of)
        copies = [_copy(info.pod, name) for info in self._on(row) if stays_with_node(info.pod)]
        fresh = new_node(model, name)
        taints = tuple(taint for taint in fresh.spec.taints if not taint.key.startswith(NODE_STATE))
        self._cluster.set_node(replace(fresh, spec=replace(fresh.spec, taints=taints)))
        for pod in copies:
            self._cluster.place(self._cluster.templates.info(pod), name)
        try:
            return name in self._taken_by()
        finally:
            for pod in copies:
                self._cluster.displace(pod.metadata.uid)
            self._cluster.remove_node(name)

    def _victims(self, priority: int) -> str:
        """Who would be preempted by the pod with this priority, on the first of the best nodes; empty if nobody.

        Replicas of the same workload do not count: one would wait instead of the other.
        """
        spec = replace(self._pod.spec, priority=priority, preemption_policy=PREEMPTS)
        try:
            fit = self._evaluator.filter(self._cluster.templates.info(replace(self._pod, spec=spec)))
            for plugin in self._plugins if not fit.count else ():
                _, best = plugin.dry_run(fit.state, fit.pod, fit.diagnosis())
                for node in sorted(best):
                    if not all(_are_siblings(self._pod, victim) for victim in best[node].pods):
                        return f"it would preempt {_some([victim.key for victim in best[node].pods])} on {node}"
        except PluginError:
            pass
        return ""

    def _on(self, row: int) -> Sequence[PodInfo]:
        return list(self._cluster.pods.on_node(row))


def _are_siblings(pod: Pod, other: Pod) -> bool:
    owner, owner_of_other = pod.metadata.controller_of, other.metadata.controller_of
    return owner is not None and owner_of_other is not None and owner.uid == owner_of_other.uid


def _states(node: Node) -> list[str]:
    """What a node's state keeps pods away for, in the words of its taints: `not-ready`."""
    keys = {taint.key for taint in node.spec.taints if taint.effect != "PreferNoSchedule"}
    return sorted(key.removeprefix(NODE_STATE) for key in keys if key.startswith(NODE_STATE))


def _kind(node: Node) -> object:
    """Equal for nodes that differ in nothing but their names and states."""
    labels = {key: value for key, value in node.metadata.labels.items() if value != node.name}
    taints = tuple(taint for taint in node.spec.taints if not taint.key.startswith(NODE_STATE))
    allocatable = {name: str(amount) for name, amount in node.status.allocatable.items()}
    return (frozenset(labels.items()), frozenset(allocatable.items()), taints)


def _free_name(like: str, taken: Mapping[str, int]) -> str:
    number = 1
    while (name := f"{like}-new-{number}") in taken:
        number += 1
    return name


def _copy(pod: Pod, node_name: str) -> Pod:
    metadata = replace(pod.metadata, name=f"{pod.metadata.name}-{node_name}", uid=f"{pod.metadata.uid}-{node_name}")
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=node_name))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
