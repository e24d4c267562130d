"""Which events may help a pod that InterPodAffinity rejected."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from kubesched.objects import Node, Pod
from kubesched.scheduler.columns import AffinityTerm, PodInfo, PodTemplate
from kubesched.scheduler.columns.affinity_terms import TermKind, compile_terms
from kubesched.scheduler.columns.label_tags import LabelTag, label_tags
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, Resource, Tags


class AffinityHints:
    """`any_anti_affinity_term` is ANY_ANTI_AFFINITY_TERM_WAKES: one term that no longer keeps pods apart will do."""

    def __init__(self, *, any_anti_affinity_term: bool) -> None:
        self._matches_anti_affinity = _any_matches if any_anti_affinity_term else _all_match
        self._takes_any = any_anti_affinity_term

    def events(self) -> Sequence[EventHint]:
        return (
            EventHint(
                ClusterEvent(Resource.POD, Action.ADD | Action.DELETE),
                self.after_pod_added_or_deleted,
                per_template=True,
                tags=Tags(self._labels_needed, _labels_of),
            ),
            EventHint(ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL), self.after_pod_labels_changed),
            EventHint(
                ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
                after_node_changed,
                per_template=True,
            ),
        )

    def after_pod_added_or_deleted(self, rejected: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        """A pod that the rejected one wants near came, or one that it (or that) wanted apart went."""
        changed = new or old
        assert changed is not None
        template = rejected.template
        if not _has_a_node(changed):
            return Hint.SKIP
        if new is not None:
            return _queue_if(_all_match(template.required_affinity, new))
        if self._matches_anti_affinity(template.required_anti_affinity, changed):
            return Hint.QUEUE
        return _queue_if(self._matches_anti_affinity(_anti_affinity_of(changed), template.exemplar))

    def after_pod_labels_changed(self, rejected: PodInfo, old: Pod, new: Pod) -> Hint:
        """The rejected pod's labels changed, or another pod's came to match its affinity or left its anti-affinity."""
        if rejected.uid == new.metadata.uid:
            return Hint.QUEUE
        if not _has_a_node(new) or not _has_a_node(old):
            return Hint.SKIP
        terms, anti_terms = rejected.template.required_affinity, rejected.template.required_anti_affinity
        if not _all_match(terms, old) and _all_match(terms, new):
            return Hint.QUEUE
        matches = self._matches_anti_affinity
        return _queue_if(matches(anti_terms, old) and not matches(anti_terms, new))

    def _labels_needed(self, rejected: PodTemplate) -> Collection[Hashable] | None:
        """Labels of which another pod has one if the rejected pod's (anti-)affinity speaks of it.

        Where all terms must match for a hint to say QUEUE, those of the first one will do.
        """
        affinity, anti_affinity = rejected.required_affinity[:1], rejected.required_anti_affinity
        needed: list[LabelTag] = []
        for term in (*affinity, *(anti_affinity if self._takes_any else anti_affinity[:1])):
            tags = label_tags(term.selector)
            if tags is None:
                return None
            needed += tags
        return needed


def after_node_changed(rejected: PodInfo, old: Node | None, new: Node) -> Hint:
    """A node came, or moved to another domain of a topology that the rejected pod's terms speak of."""
    labels = new.metadata.labels
    for term in rejected.template.required_affinity:
        key = term.topology_key
        if key in labels and (old is None or old.metadata.labels.get(key) != labels[key]):
            return Hint.QUEUE
    for term in rejected.template.required_anti_affinity:
        key = term.topology_key
        # A new node always may help: without the label it is free of any anti-affinity.
        if old is None or (key in old.metadata.labels and old.metadata.labels[key] != labels.get(key)):
            return Hint.QUEUE
    return Hint.SKIP


def _has_a_node(pod: Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _all_match(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    """As podMatchesAllAffinityTerms: not if there are none, and namespaces are taken to have no labels."""
    return bool(terms) and all(term.matches(pod.metadata.namespace, pod.metadata.labels, {}) for term in terms)


def _any_matches(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    """As podMatchesAnyAffinityTerms."""
    return any(term.matches(pod.metadata.namespace, pod.metadata.labels, {}) for term in terms)


def _anti_affinity_of(pod: Pod) -> tuple[AffinityTerm, ...]:
    return compile_terms(pod.spec.affinity, TermKind.REQUIRED_ANTI_AFFINITY, pod.metadata.namespace)


def _labels_of(old: Pod | None, new: Pod | None) -> Collection[Hashable] | None:
    """None if a pod has gone that kept others away itself: whom it kept away, its own terms say."""
    changed = new or old
    assert changed is not None
    return None if new is None and _anti_affinity_of(changed) else changed.metadata.labels.items()


def _queue_if(helps: bool) -> Hint:
    return Hint.QUEUE if helps else Hint.SKIP
