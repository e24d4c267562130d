"""What is counted for a pod template: which placed pods its terms speak of, and which speak of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from kubesched.scheduler.columns import (
    AffinityTerm,
    CarriedTerm,
    ClusterTables,
    Counts,
    LabelColumn,
    NodeView,
    PodCount,
    PodTemplate,
    TermKind,
)
from kubesched.scheduler.columns.label_tags import label_tags
from kubesched.scheduler.plugins.inter_pod_affinity.terms import PodMatcher, matcher_of
from kubesched.scheduler.plugins.support.per_template import PerVersion

NAME: Final = "InterPodAffinity"
_FEW_NODES: Final = 32
_FEW_DOMAINS: Final = 32


@dataclass(frozen=True, slots=True)
class DomainCount:
    """A count of pods, summed over the domains of a topology; `weight` is what each is worth to a score."""

    column: LabelColumn
    count: PodCount
    weight: int = 1

    def is_anywhere(self) -> bool:
        """Whether any such pod is on a node that has the topology's label."""
        return bool(self.count.total) and bool(np.count_nonzero(self.count.per_domain(self.column)))


def weights_in_domains(items: Iterable[DomainCount], nodes: NodeView) -> list[Counts]:
    """By topology that matters: what all the counted pods in each node's domain weigh together. Don't write to it."""
    is_short = len(nodes) <= _FEW_NODES
    together: dict[LabelColumn, Counts] = {}  # per domain; of a few nodes' domains only, per node
    for item in items:
        if item.count.total:
            column, weights = item.column, item.count.per_domain(item.column)
            if is_short:
                weights = weights.take(nodes.domains(column.key))
            if item.weight != 1:
                weights = item.weight * weights
            together[column] = together[column] + weights if column in together else weights
    if is_short:
        return list(together.values())
    return [per_domain.take(nodes.domains(column.key)) for column, per_domain in together.items()]


@dataclass(frozen=True)
class Plan:
    """The counts behind every answer for one template, as long as terms in use and namespaces stay the same."""

    affinity: tuple[DomainCount, ...]
    """Pods that match all the required affinity terms, in the topology of each."""
    matches_itself: bool
    anti_affinity: tuple[DomainCount, ...]
    existing_anti_affinity: tuple[DomainCount, ...]
    preferences: tuple[DomainCount, ...]

    @property
    def has_required_terms(self) -> bool:
        return bool(self.affinity or self.anti_affinity)

    @cached_property
    def _counts(self) -> tuple[PodCount, ...]:
        return tuple({item.count: None for item in self._everything})

    @cached_property
    def _columns(self) -> tuple[LabelColumn, ...]:
        return tuple({item.column: None for item in self._everything})

    @property
    def _everything(self) -> tuple[DomainCount, ...]:
        return (*self.affinity, *self.anti_affinity, *self.existing_anti_affinity, *self.preferences)

    @property
    def preferred_topology(self) -> LabelColumn | None:
        """The one that all preferences speak of, if it has few domains."""
        if not self.preferences:
            return None
        columns = {item.column for item in self.preferences}
        return next((column for column in columns if len(columns) == 1 and len(column.values) <= _FEW_DOMAINS), None)

    def external_version(self) -> Hashable:
        """Changes with any number that the answers depend on."""
        if not self._counts:
            return None
        return (*[count.version for count in self._counts], *[column.version for column in self._columns])

    def changes_since(self, external_version: Hashable) -> dict[PodCount, dict[int, int]] | None:
        """By count: the rows at which it has changed since, and by how much; None if that is not known."""
        number = len(self._counts)
        if not isinstance(external_version, tuple) or external_version[number:] != tuple(
            [column.version for column in self._columns]
        ):
            return None
        changes: dict[PodCount, dict[int, int]] = {}
        for count, version in zip(self._counts, external_version[:number], strict=True):
            changed = count.changes_since(version)
            if changed is None:
                return None
            changes[count] = changed
        return changes


EMPTY: Final = Plan((), False, (), (), ())


class Plans:
    """A plan per template, rebuilt when the terms in use, the namespaces or the kept counts have changed."""

    def __init__(self, cluster: ClusterTables, hard_affinity_weight: int, *, resolves_all: bool = True) -> None:
        """`resolves_all`: see `matcher_of`."""
        self._cluster = cluster
        self._resolves_all = resolves_all
        self._hard_affinity_weight = hard_affinity_weight
        self._plans = PerVersion(self._make)

    def of(self, pod: PodTemplate) -> Plan:
        """Raises InvalidObjectError if a term of the pod does not compile."""
        cluster = self._cluster
        if not pod.has_affinity and cluster.terms.is_empty:
            return EMPTY
        return self._plans.of(pod, (cluster.terms.version, cluster.namespaces_version, cluster.counts.drops))

    def _make(self, pod: PodTemplate) -> Plan:
        speaking = self._cluster.terms.speaking_of(pod, self._cluster.namespace_labels.get(pod.namespace, {}))
        if not speaking and not pod.has_affinity:
            return EMPTY
        nodes = self._cluster.view()
        required = self._matchers(pod.required_affinity)
        return Plan(
            affinity=self._required_affinity(pod, required, nodes),
            matches_itself=all(matcher.matches(pod) for matcher in required),
            anti_affinity=tuple(self._matching(term, nodes) for term in pod.required_anti_affinity),
            existing_anti_affinity=tuple(
                _carrying(item, nodes) for item in speaking if item.kind is TermKind.REQUIRED_ANTI_AFFINITY
            ),
            preferences=(
                *(self._matching(term, nodes, term.weight) for term in pod.preferred_affinity),
                *(self._matching(term, nodes, -term.weight) for term in pod.preferred_anti_affinity),
                *(_carrying(item, nodes, sign) for item in speaking if (sign := self._sign(item.kind))),
            ),
        )

    def _sign(self, kind: TermKind) -> int:
        """What a placed pod's term of weight 1 adds to the score of the nodes near it."""
        match kind:
            case TermKind.REQUIRED_AFFINITY:
                return self._hard_affinity_weight
            case TermKind.PREFERRED_AFFINITY:
                return 1
            case TermKind.PREFERRED_ANTI_AFFINITY:
                return -1
            case TermKind.REQUIRED_ANTI_AFFINITY:
                return 0

    def _matchers(self, terms: Iterable[AffinityTerm]) -> tuple[PodMatcher, ...]:
        labels = self._cluster.namespace_labels
        return tuple(matcher_of(term, labels, resolves_all=self._resolves_all) for term in terms)

    def _required_affinity(
        self, pod: PodTemplate, required: tuple[PodMatcher, ...], nodes: NodeView
    ) -> tuple[DomainCount, ...]:
        if not required:
            return ()
        count = _matching_all(required, nodes)
        keys = dict.fromkeys(term.topology_key for term in pod.required_affinity)
        return tuple(DomainCount(nodes.label(key), count) for key in keys)

    def _matching(self, term: AffinityTerm, nodes: NodeView, weight: int = 1) -> DomainCount:
        return DomainCount(nodes.label(term.topology_key), _matching_all(self._matchers((term,)), nodes), weight)


def _matching_all(matchers: tuple[PodMatcher, ...], nodes: NodeView) -> PodCount:
    """Pods that all the matchers match."""
    return nodes.count(
        (NAME, "matching", matchers),
        lambda placed: int(all(matcher.matches(placed) for matcher in matchers)),
        tags=next((tags for matcher in matchers if (tags := label_tags(matcher.selector)) is not None), None),
    )


def _carrying(item: CarriedTerm, nodes: NodeView, weight: int = 1) -> DomainCount:
    """Pods that carry a term, each as often as the term weighs."""
    count = nodes.count((NAME, "carrying", item), lambda placed: placed.carried_terms.get(item, 0), tags=(item,))
    return DomainCount(nodes.label(item.term.topology_key), count, weight)
