"""How many more pods fit, where, and what stops the next one: counted by the scheduler, pod after pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from kubesched.apps.inputs.workloads import WorkloadManifest
from kubesched.apps.plan.hypotheses import Hypothesis
from kubesched.apps.plan.reporting import Progress, ReportPart, amount
from kubesched.apps.plan.state import State
from kubesched.apps.plan.what_if import why_waiting
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import ConfigurationError
from kubesched.objects import Node, Pod, PodGroup
from kubesched.objects.pod import PodSchedulingGroup
from kubesched.objects.pod_resources import in_scheduler_units, incoming_requests

SMALLEST_BATCH: Final = 32
MOST_PODS: Final = 1_000_000
"""More than this is taken for "without end": pods that ask for nothing fit for ever."""
POOL_LABELS: Final = (
    *("karpenter.sh/nodepool", "eks.amazonaws.com/nodegroup", "cloud.google.com/gke-nodepool", "agentpool", "pool"),
    *("node-pool", "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
)


class MixPart(NamedTuple):
    """So many pods of a workload in every set of the mix."""

    workload: WorkloadManifest
    pods: int


class GroupRoom(ReportPart):
    """A group of nodes: how many of the pods it takes, and what is left in it then."""

    name: str
    nodes: int
    pods: int
    limit: str
    """Why most of its nodes do not take the next pod."""
    reasons: dict[str, int]
    """All such reasons, with their nodes."""
    free: dict[str, str]


class CapacityReport(ReportPart):
    """`pods` fit, which are `sets` whole sets of the mix. Without `stopped_by`, more would fit than were asked for."""

    pods: int
    sets: int
    by_workload: dict[str, int]
    stopped_by: str = ""
    why: str = ""
    groups: tuple[GroupRoom, ...] = ()
    by_node: dict[str, int] = msgspec.field(default_factory=dict)
    supposing: tuple[str, ...] = ()


def capacity(
    simulation: Simulation,
    mix: Sequence[MixPart],
    others: Sequence[Any] = (),
    *,
    supposing: Sequence[Hypothesis] = (),
    most: int = 0,
    group_by: str = "",
    progress: Progress | None = None,
) -> CapacityReport:
    """Add set after set of a mix until one pod fits nowhere, or until there are `most` sets. Nobody is preempted.

    `others` are objects that the pods need: claims, and a pod group, of which every set gets one of its own.
    """
    if not any(part.pods for part in mix):
        raise ConfigurationError(["there are no pods to count: give a pod, or a workload with replicas"])
    with State(simulation, notes_ties=False) as state:
        for hypothesis in supposing:
            hypothesis.apply(state)
        state.settle()
        simulation.add(*(obj for obj in others if not isinstance(obj, PodGroup)))
        count = _Count(simulation, mix, [obj for obj in others if isinstance(obj, PodGroup)], most)
        while not count.is_over:
            count.add_batch()
            if progress is not None:
                progress(len(count.placed), max(most * count.per_set, len(count.placed) + 1))
        return count.report(group_by, tuple(map(str, supposing)))


def shortfall(simulation: Simulation, mix: Sequence[MixPart], others: Sequence[Any], sets: int) -> dict[str, int]:
    """By workload: how many pods of so many sets find no place now, if each takes one where it can."""
    with State(simulation, notes_ties=False) as state:
        state.settle()
        simulation.add(*(obj for obj in others if not isinstance(obj, PodGroup)))
        count = _Count(simulation, mix, [obj for obj in others if isinstance(obj, PodGroup)], sets)
        return count.without_place()


class _Count:
    def __init__(self, simulation: Simulation, mix: Sequence[MixPart], groups: Sequence[PodGroup], most: int) -> None:
        self._simulation = simulation
        self._mix = mix
        self._groups = groups
        self._most = most or max(1, MOST_PODS // sum(part.pods for part in mix))
        self._sets = 0
        self._kind_of: dict[str, str] = {}
        self.per_set = sum(part.pods for part in mix)
        self.placed: list[Pod] = []
        self.stopped: Pod | None = None
        # In one batch, pods of higher priority would go first.
        self._one_by_one = len({part.workload.template.priority for part in mix}) > 1

    @property
    def is_over(self) -> bool:
        return self.stopped is not None or self._sets == self._most

    def add_batch(self) -> None:
        simulation = self._simulation
        wanted = 1 if self._one_by_one else max(1, SMALLEST_BATCH // self.per_set, self._sets // 8)
        number = min(wanted, self._most - self._sets)
        pods = [pod for index in range(self._sets, self._sets + number) for pod in self._set(index)]
        simulation.add(*pods)
        simulation.settle()
        tried = [simulation.get(Pod, pod.metadata.name, pod.metadata.namespace) or pod for pod in pods]
        first = next((place for place, pod in enumerate(tried) if not pod.spec.node_name), len(tried))
        self.placed += tried[:first]
        self._sets += number
        if first < len(tried):
            self.stopped = tried[first]
            for pod in tried[first + 1 :]:  # smaller ones may have found a place after it
                simulation.remove(pod)

    def without_place(self) -> dict[str, int]:
        """Try all sets at once."""
        pods = [pod for index in range(self._most) for pod in self._set(index)]
        self._simulation.add(*pods)
        self._simulation.settle()
        left = Counter({part.workload.name: 0 for part in self._mix})
        for pod in pods:
            now = self._simulation.get(Pod, pod.metadata.name, pod.metadata.namespace)
            left[self._kind_of[pod.key]] += now is None or not now.spec.node_name
        return dict(left)

    def report(self, group_by: str, supposing: tuple[str, ...]) -> CapacityReport:
        by_node = Counter(pod.spec.node_name for pod in self.placed)
        by_workload = Counter({part.workload.name: 0 for part in self._mix})
        by_workload.update(self._kind_of[pod.key] for pod in self.placed)
        stopped = self.stopped
        return CapacityReport(
            pods=len(self.placed),
            sets=len(self.placed) // self.per_set,
            by_workload=dict(by_workload),
            stopped_by=self._kind_of[stopped.key] if stopped is not None else "",
            why=why_waiting(stopped) if stopped is not None else "",
            groups=tuple(self._rooms(by_node, group_by)) if stopped is not None else (),
            by_node=dict(sorted(by_node.items())),
            supposing=supposing,
        )

    def _set(self, index: int) -> Iterator[Pod]:
        for group in self._groups:
            name = _of_set(group.metadata.name, index)
            metadata = replace(group.metadata, name=name, uid=f"PodGroup/{group.metadata.namespace}/{name}")
            self._simulation.add(replace(group, metadata=metadata))
        for part in self._mix:
            for pod in part.workload.pods(part.pods, first=index * part.pods):
                spec = replace(pod.spec, preemption_policy="Never", node_name="")
                if spec.scheduling_group is not None and self._groups:
                    name = _of_set(spec.scheduling_group.pod_group_name, index)
                    spec = replace(spec, scheduling_group=PodSchedulingGroup(pod_group_name=name))
                name = f"capacity-{pod.metadata.name}"
                metadata = replace(pod.metadata, name=name, uid=f"Pod/{pod.metadata.namespace}/{name}")
                self._kind_of[metadata.key] = part.workload.name
                yield replace(pod, spec=spec, metadata=metadata)

    def _rooms(self, by_node: Mapping[str, int], group_by: str) -> Iterator[GroupRoom]:
        """By node group: what its nodes say about the pod that found no place."""
        simulation, stopped = self._simulation, self.stopped
        assert stopped is not None
        said = simulation.explain(stopped, seek_remedies=False)
        free_of = {info.name: info.free for info in simulation.nodes()}
        wanted = sorted({name for part in self._mix for name in incoming_requests(part.workload.template)})
        for name, nodes in sorted(node_groups(simulation.objects(Node), group_by).items()):
            reasons: Counter[str] = Counter()
            for node in nodes:
                status = said.filters.get(node)
                reasons.update(status.reasons if status is not None and not status.is_success else ())
            free = {one: sum(free_of[node].get(one, 0) for node in nodes) for one in wanted}
            yield GroupRoom(
                name=name,
                nodes=len(nodes),
                pods=sum(by_node.get(node, 0) for node in nodes),
                limit=reasons.most_common(1)[0][0] if reasons else "",
                reasons=dict(reasons.most_common()),
                free={one: amount(one, max(0, units)) for one, units in free.items()},
            )


def _of_set(name: str, index: int) -> str:
    return f"capacity-{name}-{index}"


def node_groups(nodes: Sequence[Node], by: str = "") -> dict[str, list[str]]:
    """The names of nodes by the value of a label; by the first label of node pools that all have, or by their size."""
    label = by or next((key for key in POOL_LABELS if all(key in node.metadata.labels for node in nodes)), "")
    if by and not any(by in node.metadata.labels for node in nodes):
        raise ConfigurationError([f"no node has the label {by}"])
    groups: dict[str, list[str]] = {}
    for node in sorted(nodes, key=lambda node: node.metadata.name):
        name = node.metadata.labels.get(label, "(without)") if label else _size(node)
        groups.setdefault(name, []).append(node.metadata.name)
    return groups


def _size(node: Node) -> str:
    units = in_scheduler_units(node.status.allocatable)
    return ", ".join(f"{amount(name, units[name])} {name}" for name in sorted(units) if name != "pods" and units[name])
