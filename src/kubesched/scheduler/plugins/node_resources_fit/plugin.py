"""NodeResourcesFit: a node takes a pod only if it has the room, and is scored by how full it is then."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, NamedTuple

import msgspec

from kubesched.config.plugin_args import NodeResourcesFitArgs
from kubesched.objects import DeviceClass, Pod
from kubesched.objects.pod import Container, PodSpec, ResourceRequirements
from kubesched.objects.pod_resources import allocation_score_requests, from_units, incoming_requests
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import is_extended_resource, is_scalar_resource
from kubesched.scheduler.columns import Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.framework import (
    FIXED,
    SUCCESS,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    PlacementScorePlugin,
    PodChange,
    PodGroupAssignments,
    PodGroupInfo,
    PreFilterPlugin,
    PreScorePlugin,
    Reason,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import with_containers
from kubesched.scheduler.framework.verdict import MOST_REASONS
from kubesched.scheduler.plugins.node_resources_fit.hints import ResourceHints
from kubesched.scheduler.plugins.node_resources_fit.placement import placement_score
from kubesched.scheduler.plugins.support.amounts import Amount, Truth, amount, column, holds_somewhere
from kubesched.scheduler.plugins.support.devices.backing import BackingClasses
from kubesched.scheduler.plugins.support.exact_sums import ExactSums
from kubesched.scheduler.plugins.support.per_template import PerRequests
from kubesched.scheduler.plugins.support.resource_scoring import (
    ResourceScorer,
    ScoredDevices,
    ScoredResource,
    scored_resources,
)

NAME: Final = "NodeResourcesFit"
TOO_MANY_PODS: Final = Reason.unschedulable("Too many pods")


class Demand(NamedTuple):
    """What a pod asks of one resource, and the bits of a verdict that say that a node lacks it.

    `hopeless` stands for a node that is too small even when empty: preemption cannot help there.
    """

    resource: str
    request: int
    lacking: int
    hopeless: int
    may_be_devices: bool


@dataclass(frozen=True, slots=True)
class Demands:
    resources: tuple[Demand, ...]
    reasons: tuple[Reason, ...]
    may_be_devices: bool
    """Of ignored resources, too: they may be scored."""


class NodeResourcesFit(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, PlacementScorePlugin):
    """Rejects nodes without room for the pod's requests or for one more pod; scores by the configured strategy."""

    name = NAME
    depends_on = DependsOn.NODE_RESOURCES

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        # PreFilter never counts what claims allocate on the node (computePodResourceRequest's options).
        self._features = replace(handle.cluster.templates.features, node_allocatable_claims=False)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._devices: BackingClasses | None = None
        if handle.gates.enabled("DRAExtendedResource"):
            self._devices = BackingClasses(handle.objects.of(DeviceClass))
        self._demands = PerRequests(self._demands_of)
        self._specs = args.scoring_strategy.resources
        self._scored_devices = ScoredDevices(self._specs, handle)
        self._scorer = ResourceScorer(args.scoring_strategy, self._scored_devices, ExactSums.shared(handle))
        self._scored = PerRequests(self._scored_of)

    def signature(self, pod: PodTemplate) -> Hashable:
        return (self._demands.of(pod).resources, self._scored.of(pod))

    def external_version(self, pod: PodTemplate) -> Hashable:
        if self._devices is None or not self._demands.of(pod).may_be_devices:
            return FIXED
        return self._devices.version

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        """With every pod that is given devices, scores that count them change on some node."""
        counts = self._scored_devices.totals is not None and self._scored_devices.count_for(self._scored.of(pod))
        return DependsOn.ANYTHING if counts else self.depends_on

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        demands = self._demands.of(pod)
        is_full: Truth = amount(nodes.pod_count) >= amount(nodes.allowed_pods)
        bits: Amount = is_full * 1 if holds_somewhere(is_full) else 0
        for demand in demands.resources:
            capacity = amount(nodes.allocatable(demand.resource))
            is_lacking: Truth = capacity - amount(nodes.requested(demand.resource)) < demand.request
            if demand.may_be_devices and self._is_left_to_devices(demand.resource):
                is_lacking = is_lacking & (capacity > 0)
            if holds_somewhere(is_lacking):
                is_hopeless = is_lacking & (capacity < demand.request)
                bits = bits | (is_lacking * demand.lacking + is_hopeless * (demand.hopeless - demand.lacking))
        return Verdict(column(bits, nodes), demands.reasons)

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        """Ask for less of one resource."""
        for name, asked in incoming_requests(pod, self._features).items():
            if asked:
                shown = "CPU" if name == "cpu" else name
                says = f"requested at most {{free}} {shown} (now {from_units(name, asked)})"
                yield PodChange(says, partial(_without_resource, name), resource=name)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        return self._scorer.score(nodes, self._scored.of(pod))

    def score_placement(self, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        coming = [self._score_requests(pod.template) for pod in group.pods if pod.uid in assignments.proposed]
        return placement_score(self._specs, coming, assignments.placement.nodes)

    def events_to_register(self) -> Sequence[EventHint]:
        return ResourceHints(self._features, self._devices).events()

    def _is_left_to_devices(self, resource: str) -> bool:
        """Whether DynamicResources serves the resource on nodes that do not have it (shouldDelegateResourceToDRA)."""
        return self._devices is not None and resource in self._devices

    def _is_ignored(self, resource: str) -> bool:
        if not is_extended_resource(resource):
            return False
        return resource in self._ignored or resource.partition("/")[0] in self._ignored_groups

    def _demands_of(self, pod: PodTemplate) -> Demands:
        requests = pod.requests if pod.has_plain_requests else incoming_requests(pod.exemplar, self._features)
        demands: list[Demand] = []
        names: list[str] = []
        may_be_devices = False
        for name, request in requests.items():
            if not request:
                continue
            is_scalar = is_scalar_resource(name)
            may_be_devices |= is_scalar
            if not (is_scalar and self._is_ignored(name)):
                # A pod with more resources than a verdict has bits: the last ones share theirs, none is let through.
                first = min(1 + 2 * len(names), MOST_REASONS - 3)
                demands.append(Demand(name, request, 1 << first, 2 << first, is_scalar))
                names.append(name)
        return Demands(tuple(demands), _reasons(tuple(names)), may_be_devices)

    def _scored_of(self, pod: PodTemplate) -> tuple[ScoredResource, ...]:
        return scored_resources(self._specs, self._score_requests(pod))

    def _score_requests(self, pod: PodTemplate) -> Mapping[str, int]:
        return pod.requests if pod.has_plain_requests else allocation_score_requests(pod.exemplar)


@lru_cache
def _reasons(resources: tuple[str, ...]) -> tuple[Reason, ...]:
    """Too many pods; and by resource, of nodes that lack it now, and of those that are too small even when empty."""
    reasons = [TOO_MANY_PODS]
    for resource in resources:
        message = f"Insufficient {resource}"
        reasons += (Reason.unschedulable(message), Reason.unresolvable(message))
    return tuple(reasons[:MOST_REASONS])


def _without_resource(name: str, spec: PodSpec) -> PodSpec:
    def less(amounts: dict[str, Quantity]) -> dict[str, Quantity]:
        return {other: amount for other, amount in amounts.items() if other != name}

    def smaller(resources: ResourceRequirements) -> ResourceRequirements:
        return msgspec.structs.replace(resources, requests=less(resources.requests), limits=less(resources.limits))

    def edit(container: Container) -> Container:
        return msgspec.structs.replace(container, resources=smaller(container.resources))

    pod_level = smaller(spec.resources) if spec.resources is not None else None
    return msgspec.structs.replace(with_containers(edit, spec), resources=pod_level, overhead=less(spec.overhead))
