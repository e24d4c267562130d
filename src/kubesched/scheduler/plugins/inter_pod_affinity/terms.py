"""The terms of an incoming pod, ready to be matched with placed pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubesched.errors import InvalidObjectError
from kubesched.objects.requirements import aggregate
from kubesched.objects.selectors import Selector
from kubesched.scheduler.columns import AffinityTerm, PodTemplate, TermKind

NamespaceLabels = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PodMatcher:
    """Pods with certain labels in certain namespaces; `namespaces` None means in all."""

    namespaces: frozenset[str] | None
    selector: Selector

    def matches(self, pod: PodTemplate) -> bool:
        in_scope = self.namespaces is None or pod.namespace in self.namespaces
        return in_scope and self.selector.matches(pod.labels)


def matcher_of(term: AffinityTerm, namespace_labels: NamespaceLabels, *, resolves_all: bool) -> PodMatcher:
    """A term with its namespace selector resolved to the namespaces that it selects now.

    Without `resolves_all` (NAMESPACE_SELECTOR_IS_RESOLVED) a selector that holds for no labels at all speaks of every
    namespace, whatever its labels: upstream kept it beside the merged names and matched it without labels
    (mergeAffinityTermNamespacesIfNotEmpty).
    """
    selector = term.namespace_selector
    if selector.selects_everything or (not resolves_all and selector.matches({})):
        return PodMatcher(None, term.selector)
    if selector.selects_nothing:
        return PodMatcher(term.namespaces, term.selector)
    selected = (name for name, labels in namespace_labels.items() if selector.matches(labels))
    return PodMatcher(term.namespaces.union(selected), term.selector)


def parse_problem(pod: PodTemplate) -> str:
    """What kube-scheduler says about terms that do not compile; empty if all do."""
    problems = []
    for kind in TermKind:
        try:
            pod.terms(kind)
        except InvalidObjectError as error:
            problems.append(f"{kind.value}: {error}")
    return aggregate(problems) if problems else ""
