"""Inter-pod affinity terms, compiled once per pod template."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kubesched.objects.affinity import Affinity, PodAffinityTerm
from kubesched.objects.selectors import Selector, compile_label_selector


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityTerm:
    """Which pods a term speaks of (by namespace and labels), and the topology key that makes nodes neighbours."""

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str
    weight: int = 0

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Whether a pod with these labels in this namespace is one that the term speaks of."""
        in_scope = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return in_scope and self.selector.matches(labels)


class TermKind(enum.Enum):
    """What a term wants of the pods that it speaks of."""

    REQUIRED_AFFINITY = "requiredAffinityTerms"
    REQUIRED_ANTI_AFFINITY = "requiredAntiAffinityTerms"
    PREFERRED_AFFINITY = "preferredAffinityTerms"
    PREFERRED_ANTI_AFFINITY = "preferredAntiAffinityTerms"


class CarriedTerm(NamedTuple):
    """A term with its kind and without its weight: equal for all pods that ask for the same."""

    kind: TermKind
    term: AffinityTerm


def carried(kind: TermKind, terms: Iterable[AffinityTerm]) -> dict[CarriedTerm, int]:
    """The distinct terms, each with the sum of its weights (a required term weighs 1)."""
    weights: dict[CarriedTerm, int] = {}
    for term in terms:
        key = CarriedTerm(kind, replace(term, weight=0))
        weights[key] = weights.get(key, 0) + (term.weight or 1)
    return weights


def compile_term(term: PodAffinityTerm, owner_namespace: str, weight: int = 0) -> AffinityTerm:
    """A term without namespaces and without a namespace selector speaks of its owner's namespace.

    Raises ValueError for a selector that does not compile.
    """
    namespaces = frozenset(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((owner_namespace,))
    return AffinityTerm(
        namespaces=namespaces,
        namespace_selector=compile_label_selector(term.namespace_selector),
        selector=compile_label_selector(term.label_selector),
        topology_key=term.topology_key,
        weight=weight,
    )


def compile_terms(affinity: Affinity | None, kind: TermKind, owner_namespace: str) -> tuple[AffinityTerm, ...]:
    """The terms of one kind. Raises InvalidObjectError for a selector that does not compile."""
    if affinity is None:
        return ()
    is_anti = kind in (TermKind.REQUIRED_ANTI_AFFINITY, TermKind.PREFERRED_ANTI_AFFINITY)
    source = affinity.pod_anti_affinity if is_anti else affinity.pod_affinity
    if source is None:
        return ()
    if kind in (TermKind.REQUIRED_AFFINITY, TermKind.REQUIRED_ANTI_AFFINITY):
        required = source.required_during_scheduling_ignored_during_execution
        return tuple(compile_term(term, owner_namespace) for term in required)
    preferred = source.preferred_during_scheduling_ignored_during_execution
    return tuple(compile_term(item.pod_affinity_term, owner_namespace, item.weight) for item in preferred)
