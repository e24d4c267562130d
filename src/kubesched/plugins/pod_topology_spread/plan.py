"""What is counted for a pod template: the pods that each constraint selects, and the nodes that take part."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from kubesched.columns import Booleans, Cluster, Counts, LabelColumn, NodeView, PodCount, PodTemplate
from kubesched.columns.label_tags import label_tags
from kubesched.columns.node_matching import matching_labels, matching_selector
from kubesched.errors import InvalidObjectError
from kubesched.objects import Taint
from kubesched.objects.node_selectors import compile_node_selector
from kubesched.objects.selectors import Selector
from kubesched.plugins.pod_topology_spread.constraints import HARD, SOFT, Constraint, Constraints

NAME: Final = "PodTopologySpread"


@dataclass(frozen=True)
class Spread:
    """One constraint over the cluster as it is."""

    constraint: Constraint
    column: LabelColumn
    count: PodCount
    included: Booleans  # per row of the table: whether its pods count
    includes_all: bool  # ... which is true of all rows that carry the label
    is_self_matching: bool

    def sums(self) -> Counts:
        """Selected pods per domain; the last entry answers for nodes without the label. Don't write to it."""
        return self.count.per_domain(self.column, None if self.includes_all else self.included)

    @cached_property
    def domains(self) -> npt.NDArray[np.intp]:
        """The domains with at least one node that takes part."""
        ids = self.column.ids[: len(self.included)] + 1
        return np.flatnonzero(np.bincount(ids[self.included], minlength=1)[1:])


@dataclass(frozen=True)
class Plan:
    """All of a pod's constraints of one kind. `carrying` are rows with all their labels; None if that is not asked."""

    spreads: tuple[Spread, ...] = ()
    carrying: Booleans | None = None
    problem: str = ""

    def versions(self) -> tuple[int, ...]:
        return tuple([spread.count.version for spread in self.spreads])


NOTHING: Final = Plan()


@dataclass(frozen=True)
class PlanPair:
    """`made_with` is everything but the counts that the plans depend on."""

    made_with: Hashable
    hard: Plan
    soft: Plan

    def basis(self) -> Hashable:
        if not self.hard.spreads and not self.soft.spreads:
            return None
        return (self.made_with, self.hard.versions(), self.soft.versions())


class Plans:
    """Plans per template, made anew when a node, the kept counts or the default selector have changed."""

    def __init__(self, cluster: Cluster, constraints: Constraints) -> None:
        self._cluster = cluster
        self._constraints = constraints
        self._plans: WeakKeyDictionary[PodTemplate, PlanPair] = WeakKeyDictionary()

    def of(self, pod: PodTemplate) -> PlanPair:
        cluster = self._cluster
        selector = self._constraints.default_selector(pod)
        if selector is None and not pod.spec.topology_spread_constraints:
            return _UNCONSTRAINED
        made_with = (cluster.nodes.node_changes.position, cluster.counts.drops, selector)
        plans = self._plans.get(pod)
        if plans is None or plans.made_with != made_with:
            plans = self._plans[pod] = PlanPair(made_with, self._make(pod, HARD), self._make(pod, SOFT))
        return plans

    def _make(self, pod: PodTemplate, action: str) -> Plan:
        try:
            constraints = self._constraints.of(pod, action)
        except InvalidObjectError as error:
            return Plan(problem=str(error))
        if not constraints:
            return NOTHING
        nodes = self._cluster.view()
        # The system's defaults for scoring spread over hosts even where zones are not known (PreScore).
        needs_all_labels = (
            action == HARD or bool(pod.spec.topology_spread_constraints) or not self._constraints.are_system_defaults
        )
        carrying = _carrying_all(constraints, nodes) if needs_all_labels else None
        candidates = nodes.exists if carrying is None else carrying
        spreads = tuple(_spread(constraint, pod, nodes, candidates) for constraint in constraints)
        return Plan(spreads, carrying)


_UNCONSTRAINED: Final = PlanPair(None, NOTHING, NOTHING)


def _spread(constraint: Constraint, pod: PodTemplate, nodes: NodeView, candidates: Booleans) -> Spread:
    included = candidates.copy()
    if constraint.honors_node_affinity:
        included &= _wanted_nodes(pod, nodes)
    if constraint.honors_taints:
        included &= nodes.by_taint_set(lambda taints: int(_tolerates_all(pod, taints))) != 0
    column = nodes.label(constraint.topology_key)
    return Spread(
        constraint=constraint,
        column=column,
        count=selected_pods(pod.namespace, constraint.selector, nodes),
        included=included,
        includes_all=not bool((column.present(nodes.rows) & ~included).any()),
        is_self_matching=constraint.selector.matches(pod.labels),
    )


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


def _carrying_all(constraints: tuple[Constraint, ...], nodes: NodeView) -> Booleans:
    carrying = nodes.exists.copy()
    for key in {constraint.topology_key for constraint in constraints}:
        carrying &= nodes.label(key).present(nodes.rows)
    return carrying


def _wanted_nodes(pod: PodTemplate, nodes: NodeView) -> Booleans:
    """Nodes that the pod's node selector and required node affinity match; a term that makes no sense matches none."""
    wanted = matching_labels(pod.spec.node_selector, nodes)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is not None:
        wanted &= matching_selector(compile_node_selector(required), nodes)
    return wanted


def _tolerates_all(pod: PodTemplate, taints: tuple[Taint, ...]) -> bool:
    return all(pod.tolerates(taint) for taint in taints if taint.effect in ("NoSchedule", "NoExecute"))
