"""Which events may help a pod that InterPodAffinity rejected."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Final

from kubesched.objects import Node, Pod
from kubesched.scheduler.columns import AffinityTerm, PodInfo, PodTemplate
from kubesched.scheduler.columns.affinity_terms import TermKind, compile_terms
from kubesched.scheduler.columns.label_tags import LabelTag, label_tags
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, Resource, Tags


def after_pod_added_or_deleted(rejected: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    """A pod that the rejected one wants near came, or one that it (or that) wanted apart went."""
    changed = new or old
    assert changed is not None
    template = rejected.template
    if not _has_a_node(changed):
        return Hint.SKIP
    if new is not None:
        return _queue_if(_all_match(template.required_affinity, new))
    if _all_match(template.required_anti_affinity, changed):
        return Hint.QUEUE
    return _queue_if(_all_match(_anti_affinity_of(changed), template.exemplar))


def after_pod_labels_changed(rejected: PodInfo, old: Pod, new: Pod) -> Hint:
    """The rejected pod's own labels changed, or another pod's came to match its affinity or left its anti-affinity."""
    if rejected.uid == new.metadata.uid:
        return Hint.QUEUE
    if not _has_a_node(new) or not _has_a_node(old):
        return Hint.SKIP
    terms, anti_terms = rejected.template.required_affinity, rejected.template.required_anti_affinity
    if not _all_match(terms, old) and _all_match(terms, new):
        return Hint.QUEUE
    return _queue_if(_all_match(anti_terms, old) and not _all_match(anti_terms, new))


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


def _anti_affinity_of(pod: Pod) -> tuple[AffinityTerm, ...]:
    return compile_terms(pod.spec.affinity, TermKind.REQUIRED_ANTI_AFFINITY, pod.metadata.namespace)


def _labels_needed(rejected: PodTemplate) -> Collection[Hashable] | None:
    """Labels of which another pod has one if the rejected pod's (anti-)affinity speaks of it.

    All terms must match for a hint to say QUEUE, so that those of the first one will do.
    """
    needed: list[LabelTag] = []
    for terms in (rejected.required_affinity, rejected.required_anti_affinity):
        if terms:
            tags = label_tags(terms[0].selector)
            if tags is None:
                return None
            needed += tags
    return needed


def _labels_of(old: Pod | None, new: Pod | None) -> Collection[Hashable] | None:
    """None if a pod has gone that kept others away itself: whom it kept away, its own terms say."""
    changed = new or old
    assert changed is not None
    return None if new is None and _anti_affinity_of(changed) else changed.metadata.labels.items()


def _queue_if(helps: bool) -> Hint:
    return Hint.QUEUE if helps else Hint.SKIP


EVENTS: Final = (
    EventHint(
        ClusterEvent(Resource.POD, Action.ADD | Action.DELETE),
        after_pod_added_or_deleted,
        per_template=True,
        tags=Tags(_labels_needed, _labels_of),
    ),
    EventHint(ClusterEvent(Resource.POD, Action.UPDATE_POD_LABEL), after_pod_labels_changed),
    EventHint(
        ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL), after_node_changed, per_template=True
    ),
)
