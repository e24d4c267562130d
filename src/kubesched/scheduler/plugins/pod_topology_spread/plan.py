"""What is counted for a pod template: the pods that each constraint selects, over the nodes that take part."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects.selectors import Selector
from kubesched.scheduler.columns import Booleans, ClusterTables, Counts, LabelColumn, NodeView, PodCount, PodTemplate
from kubesched.scheduler.columns.label_tags import label_tags
from kubesched.scheduler.plugins.pod_topology_spread.constraints import HARD, SOFT, Constraint, Constraints
from kubesched.scheduler.plugins.pod_topology_spread.node_inclusion import IncludedNodes, NodeInclusion
from kubesched.scheduler.plugins.support.per_template import PerVersion

NAME: Final = "PodTopologySpread"


@dataclass(frozen=True)
class Spread:
    """One constraint over the cluster as it is."""

    constraint: Constraint
    included: IncludedNodes
    count: PodCount
    is_self_matching: bool

    @property
    def column(self) -> LabelColumn:
        return self.included.column

    def sums(self) -> Counts:
        """Selected pods per domain; the last entry answers for nodes without the label. Don't write to it."""
        return self.count.per_domain(
            self.included.column, None if self.included.is_unrestricted else self.included.rows
        )


@dataclass(frozen=True)
class Plan:
    """All of a pod's constraints of one kind.

    `carrying` are the rows with all their labels; None if all nodes carry them, or if it does not matter.
    """

    spreads: tuple[Spread, ...] = ()
    carrying: Booleans | None = None
    problem: str = ""


NOTHING: Final = Plan()


@dataclass(frozen=True)
class PlanPair:
    """`number` changes whenever anything but a count changes that the plans depend on."""

    number: int
    hard: Plan
    soft: Plan


class Plans:
    """Plans per template, rebuilt when a node, the kept counts or the default selector have changed."""

    def __init__(self, cluster: ClusterTables, constraints: Constraints) -> None:
        self._cluster = cluster
        self._constraints = constraints
        self._inclusion = NodeInclusion(cluster)
        self._numbers = count(1)
        self._plans = PerVersion(self._make_pair)

    def of(self, pod: PodTemplate) -> PlanPair:
        cluster = self._cluster
        selector = self._constraints.default_selector(pod)
        if selector is None and not pod.spec.topology_spread_constraints:
            return _UNCONSTRAINED
        # A pod on a node that is not known yet adds a row without a change of nodes.
        made_with = (cluster.nodes.node_changes.position, len(cluster.nodes), cluster.counts.drops, selector)
        return self._plans.of(pod, made_with)

    def _make_pair(self, pod: PodTemplate) -> PlanPair:
        return PlanPair(next(self._numbers), self._make(pod, HARD), self._make(pod, SOFT))

    def _make(self, pod: PodTemplate, action: str) -> Plan:
        try:
            constraints = self._constraints.of(pod, action)
        except InvalidObjectError as error:
            return Plan(problem=str(error))
        if not constraints:
            return NOTHING
        # The system's defaults for scoring spread over hosts even where zones are not known (PreScore).
        needs_all_labels = (
            action == HARD or bool(pod.spec.topology_spread_constraints) or not self._constraints.are_system_defaults
        )
        keys = frozenset(constraint.topology_key for constraint in constraints if needs_all_labels)
        nodes = self._cluster.view()
        spreads = tuple(
            Spread(
                constraint=constraint,
                included=self._inclusion.of(pod, constraint, keys),
                count=selected_pods(pod.namespace, constraint.selector, nodes),
                is_self_matching=constraint.selector.matches(pod.labels),
            )
            for constraint in constraints
        )
        carrying = self._inclusion.carrying(keys)
        return Plan(spreads, carrying if (carrying != nodes.exists).any() else None)


_UNCONSTRAINED: Final = PlanPair(0, NOTHING, NOTHING)


def selected_pods(namespace: str, selector: Selector, nodes: NodeView) -> PodCount:
    """Pods of a namespace that a selector selects, without terminating ones.

    An empty selector selects none of the placed pods, though the pod itself matches it (countPodsMatchSelector).
    """
    return nodes.count(
        (NAME, namespace, selector),
        lambda placed: int(placed.namespace == namespace and selector.matches(placed.labels)),
        counts_terminating=False,
        tags=() if selector.selects_everything else label_tags(selector),
    )
