"""What would make a pod fit: changes of the pod, each tried with the engine that decides.

One change at a time; where none is enough, two. Nothing is said about nodes that are cordoned or not ready: their own
reasons say it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Final

from msgspec.structs import replace

from kubesched.errors import PluginError
from kubesched.objects import Pod
from kubesched.objects.affinity import Affinity, Taint, Toleration
from kubesched.objects.pod import Container, PodSpec, ResourceRequirements
from kubesched.objects.pod_resources import incoming_requests
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY
from kubesched.objects.tolerations import Tolerations
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.engine import Evaluator

MOST_TOGETHER: Final = 2
MOST_TAINTS: Final = 8
"""Of those that most nodes have: every pair of changes is tried."""
NODE_STATE: Final = "node.kubernetes.io/"
"""Taints that say how a node is, not whom it is for."""

Edit = Callable[[PodSpec], PodSpec]


@dataclass(frozen=True, slots=True)
class Remedy:
    """Changes of the pod that are enough together, and the nodes that would take it then."""

    changes: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Change:
    says: str
    edit: Edit
    resource: str = ""
    """Set if the change is to ask for less of this resource."""


def remedies(cluster: ClusterTables, evaluator: Evaluator, pod: Pod) -> list[Remedy]:
    """For a pod that fits nowhere now; empty if no small change helps."""
    changes = list(_changes(cluster, pod))
    for size in range(1, MOST_TOGETHER + 1):
        found = [
            Remedy(tuple(_said(change, cluster, nodes) for change in chosen), nodes)
            for chosen in combinations(changes, size)
            if (nodes := _taken_by(cluster, evaluator, pod, chosen))
        ]
        if found:
            return found
    return []


def _taken_by(cluster: ClusterTables, evaluator: Evaluator, pod: Pod, changes: Sequence[_Change]) -> tuple[str, ...]:
    """The nodes for the changed pod; if it is to ask for less, those where it may ask for most."""
    spec = pod.spec
    for change in changes:
        spec = change.edit(spec)
    try:
        fit = evaluator.filter(cluster.templates.info(replace(pod, spec=spec)))
    except PluginError:  # a plugin that cannot decide about the changed pod has nothing to say for it
        return ()
    if not fit.count:
        return ()
    scarce = [change.resource for change in changes if change.resource]
    free = {name: [_free(cluster, name, resource) for resource in scarce] for name in fit.names()}
    most = max(free.values())
    return tuple(sorted(name for name in free if free[name] == most)) if all(most) else ()


def _said(change: _Change, cluster: ClusterTables, nodes: Sequence[str]) -> str:
    if not change.resource:
        return change.says
    return change.says.format(free=_amount(change.resource, _free(cluster, nodes[0], change.resource)))


def _free(cluster: ClusterTables, node_name: str, resource: str) -> int:
    """What is left of a resource on a node; less than nothing counts as nothing."""
    table = cluster.nodes
    row, column = table.row_of[node_name], table.resource_id(resource)
    return max(0, int(table.allocatable[column][row]) - int(table.requested[column][row]))


def _changes(cluster: ClusterTables, pod: Pod) -> Iterator[_Change]:
    """Everything about a pod that may keep it from a node, each with the edit that takes it away."""
    spec = pod.spec
    for name, asked in incoming_requests(pod).items():
        if asked:
            says = f"asked for {{free}} {name} or less, not {_amount(name, asked)}"
            yield _Change(says, partial(_without_resource, name), resource=name)
    for taint in _taints_in_the_way(cluster, pod):
        yield _Change(f"tolerated {_shown(taint)}", partial(_tolerating, taint))
    if spec.node_selector:
        yield _Change("had no node selector", lambda spec: replace(spec, node_selector={}))
    yield from _affinity_changes(spec.affinity or Affinity())
    if any(port.host_port for container in spec.containers + spec.init_containers for port in container.ports):
        yield _Change("had no host ports", lambda spec: _each_container(spec, lambda one: replace(one, ports=())))
    for constraint in spec.topology_spread_constraints:
        if constraint.when_unsatisfiable == "DoNotSchedule":
            says = f"were not spread over {constraint.topology_key}"
            yield _Change(says, partial(_without, "topology_spread_constraints", constraint))
    for volume in spec.volumes:
        yield _Change(f"had no volume {volume.name}", partial(_without, "volumes", volume))
    for claim in spec.resource_claims:
        yield _Change(f"had no resource claim {claim.name}", partial(_without, "resource_claims", claim))


def _affinity_changes(affinity: Affinity) -> Iterator[_Change]:
    for field, says in (
        ("node_affinity", "had no required node affinity"),
        ("pod_affinity", "had no required pod affinity"),
        ("pod_anti_affinity", "had no required pod anti-affinity"),
    ):
        terms = getattr(affinity, field)
        if terms is not None and terms.required_during_scheduling_ignored_during_execution:
            yield _Change(says, partial(_without_affinity, field))


def _without_affinity(field: str, spec: PodSpec) -> PodSpec:
    assert spec.affinity is not None
    return replace(spec, affinity=replace(spec.affinity, **{field: None}))


def _without(field: str, item: object, spec: PodSpec) -> PodSpec:
    """Without one item of a list."""
    return replace(spec, **{field: tuple(other for other in getattr(spec, field) if other != item)})


def _without_resource(name: str, spec: PodSpec) -> PodSpec:
    def less(amounts: dict[str, Quantity]) -> dict[str, Quantity]:
        return {other: amount for other, amount in amounts.items() if other != name}

    def smaller(resources: ResourceRequirements) -> ResourceRequirements:
        return replace(resources, requests=less(resources.requests), limits=less(resources.limits))

    spec = _each_container(spec, lambda container: replace(container, resources=smaller(container.resources)))
    pod_level = smaller(spec.resources) if spec.resources is not None else None
    return replace(spec, resources=pod_level, overhead=less(spec.overhead))


def _each_container(spec: PodSpec, edit: Callable[[Container], Container]) -> PodSpec:
    return replace(
        spec, containers=tuple(map(edit, spec.containers)), init_containers=tuple(map(edit, spec.init_containers))
    )


def _taints_in_the_way(cluster: ClusterTables, pod: Pod) -> list[Taint]:
    found = Counter(
        Taint(key=taint.key, value=taint.value, effect=taint.effect)
        for _, node in cluster.nodes.existing()
        for taint in node.spec.taints
        if taint.effect in ("NoSchedule", "NoExecute") and not taint.key.startswith(NODE_STATE)
    )
    tolerated = Tolerations(pod.spec.tolerations)
    untolerated = [taint for taint, _ in found.most_common() if not tolerated.tolerate(taint)]
    return untolerated[:MOST_TAINTS]


def _tolerating(taint: Taint, spec: PodSpec) -> PodSpec:
    toleration = Toleration(key=taint.key, value=taint.value, effect=taint.effect)
    return replace(spec, tolerations=(*spec.tolerations, toleration))


def _shown(taint: Taint) -> str:
    """As kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _amount(resource: str, units: int) -> str:
    """From the scheduler's units to what people write."""
    if resource == CPU:
        return str(Quantity.of_milli(units))
    return str(Quantity.of(units, "BinarySI" if resource in (MEMORY, EPHEMERAL_STORAGE) else "DecimalSI"))
