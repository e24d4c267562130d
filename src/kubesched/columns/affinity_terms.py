"""Inter-pod affinity terms, compiled once per pod template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubesched.objects import PodAffinityTerm, WeightedPodAffinityTerm
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


def compile_terms(terms: tuple[PodAffinityTerm, ...], owner_namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(compile_term(term, owner_namespace) for term in terms)


def compile_weighted(terms: tuple[WeightedPodAffinityTerm, ...], owner_namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(compile_term(item.pod_affinity_term, owner_namespace, item.weight) for item in terms)
