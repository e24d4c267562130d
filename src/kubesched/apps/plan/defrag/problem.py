"""The cluster as a packing problem.

Pods that are alike to it (the same requests, the same nodes that take them, the same cost) are one *type*: what counts
is how many of a type are on a node. The problem knows requests, what the scheduler's filters say about a pod and an
empty node, and pods that must not share a node with their like. It does not know constraints across nodes (spreads,
zones): its least cost is a lower bound, and whether a plan holds is for the scheduler to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kubesched.apps.inputs.new_nodes import stays_with_node
from kubesched.apps.plan.budgets import Budgets
from kubesched.apps.plan.workloads import is_recreated
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod, PodDisruptionBudget, encode
from kubesched.objects.affinity import Affinity
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.pod import Container, ResourceRequirements
from kubesched.objects.pod_resources import incoming_requests
from kubesched.objects.selectors import compile_label_selector
from kubesched.scheduler.framework import Code

HOSTNAME = "kubernetes.io/hostname"
PODS = "pods"


@dataclass(eq=False)
class PodType:
    """Pods that are alike. `on` has those that are placed, by the index of their node."""

    requests: dict[str, int]
    nodes: frozenset[int]
    """Where such a pod may go at all."""
    apart: tuple[str, ...]
    """Of all pods with one of these marks, a node takes one."""
    cost: int
    on: dict[int, list[Pod]] = field(default_factory=dict)
    wanted: int = 0
    """Pods that have no node yet, and are to get one."""

    @property
    def total(self) -> int:
        return sum(map(len, self.on.values())) + self.wanted


@dataclass(eq=False)
class Problem:
    """`room` is what a node has for pods of types; `fixed` are pods that may not move, with the reason."""

    nodes: list[str]
    room: list[dict[str, int]]
    types: list[PodType]
    fixed: dict[str, str]
    can_be_emptied: list[bool]

    def movable(self) -> int:
        return sum(len(pods) for one in self.types for pods in one.on.values())


def build(
    simulation: Simulation,
    cost: Callable[[Pod], int],
    wanted: Sequence[Pod] = (),
    *,
    within_budgets: bool = True,
    may_move: Callable[[Pod], bool] = lambda pod: True,
) -> Problem:
    """The problem as it stands now; `wanted` are pods that need a place.

    Without `within_budgets`, pods that a budget protects for ever, and pods that nothing recreates, may move, too.
    """
    infos = sorted(simulation.nodes(), key=lambda info: info.name)
    index_of = {info.name: index for index, info in enumerate(infos)}
    budgets = Budgets(simulation.objects(PodDisruptionBudget))
    budgets.recount(simulation.objects(Pod))
    room = [{**info.free, PODS: info.allowed_pods - len(info.pod_infos)} for info in infos]
    fixed: dict[str, str] = {}
    can_be_emptied = [True] * len(infos)
    types = _Types(simulation, index_of, cost)
    for index, info in enumerate(infos):
        for pod in info.pods:
            if stays_with_node(pod):
                continue
            reason = _fixed(pod, budgets, within_budgets) or ("" if may_move(pod) else "it is not to be moved")
            if reason:
                fixed[pod.key] = reason
                can_be_emptied[index] = False
                continue
            one = types.of(pod)
            one.on.setdefault(index, []).append(pod)
            for name, amount in one.requests.items():
                room[index][name] = room[index].get(name, 0) + amount
    for pod in wanted:
        types.of(pod).wanted += 1
    return Problem(list(index_of), room, types.all, fixed, can_be_emptied)


def _fixed(pod: Pod, budgets: Budgets, within_budgets: bool) -> str:
    """Why a pod may not move."""
    if pod.is_terminating:
        return "it is being deleted"
    if pod.spec.resource_claims:
        return "it holds devices"
    if not within_budgets:
        return ""
    return (
        ""
        if is_recreated(pod) and not budgets.forbids_forever(pod)
        else budgets.forbids_forever(pod) or "nothing recreates it"
    )


class _Types:
    def __init__(self, simulation: Simulation, index_of: dict[str, int], cost: Callable[[Pod], int]) -> None:
        self._simulation = simulation
        self._index_of = index_of
        self._cost = cost
        self._nodes: dict[bytes, frozenset[int]] = {}
        self._types: dict[tuple[object, ...], PodType] = {}

    @property
    def all(self) -> list[PodType]:
        return list(self._types.values())

    def of(self, pod: Pod) -> PodType:
        requests = {**{name: n for name, n in incoming_requests(pod).items() if n}, PODS: 1}
        nodes, apart, cost = self._where(pod), tuple(_keeps_apart(pod)), self._cost(pod)
        key = (tuple(sorted(requests.items())), nodes, apart, cost)
        one = self._types.get(key)
        if one is None:
            one = self._types[key] = PodType(requests, nodes, apart, cost)
        return one

    def _where(self, pod: Pod) -> frozenset[int]:
        """The nodes of which no filter says that nothing that happens to other pods would help."""
        probe = _probe(pod)
        key = encode(probe)
        nodes = self._nodes.get(key)
        if nodes is None:
            said = self._simulation.explain(probe, seek_remedies=False)
            named = said.node_names
            nodes = self._nodes[key] = frozenset(
                self._index_of[name]
                for name, status in said.filters.items()
                if status.code is not Code.UNRESOLVABLE and (named is None or name in named)
            )
        return nodes


def _probe(pod: Pod) -> Pod:
    """The pod, without what it asks for and without what ties it to other pods."""
    spec, affinity = pod.spec, pod.spec.affinity

    def bare(container: Container) -> Container:
        return replace(container, name="", image="", resources=ResourceRequirements(), ports=())

    return replace(
        pod,
        metadata=ObjectMeta(name="probe", namespace=pod.metadata.namespace, uid="probe"),
        spec=replace(
            spec,
            node_name="",
            containers=tuple(map(bare, spec.containers[:1])),
            init_containers=(),
            resources=None,
            overhead={},
            affinity=Affinity(node_affinity=affinity.node_affinity) if affinity is not None else None,
            topology_spread_constraints=(),
            scheduling_group=None,
            scheduling_gates=(),
            priority=0,
            preemption_policy="Never",
        ),
        status=type(pod.status)(),
    )


def _keeps_apart(pod: Pod) -> Iterator[str]:
    """Marks of the anti-affinities to its like, node by node."""
    affinity = pod.spec.affinity
    terms = affinity.pod_anti_affinity if affinity is not None else None
    for term in terms.required_during_scheduling_ignored_during_execution if terms is not None else ():
        if term.topology_key != HOSTNAME or term.namespaces or term.namespace_selector is not None:
            continue
        try:
            selector = compile_label_selector(term.label_selector)
        except InvalidObjectError:
            continue
        if selector.matches(pod.metadata.labels):
            yield f"{pod.metadata.namespace}: {selector}"
