"""NodeAffinity: a pod's node selector and node affinity, and those that the profile adds for every pod."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from kubesched.config.plugin_args import NodeAffinityArgs
from kubesched.errors import ConfigurationError, InvalidObjectError
from kubesched.objects import Node, Pod
from kubesched.objects.affinity import NodeAffinity as Affinity
from kubesched.objects.affinity import NodeSelector
from kubesched.objects.node_selectors import (
    NodeMatcher,
    PreferredNodeTerm,
    compile_node_selector,
    compile_node_selector_strictly,
    compile_preferred_terms,
)
from kubesched.scheduler.columns import Booleans, Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.columns.node_matching import matching_labels, matching_selector, matching_term
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Hint,
    PodChange,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Reason,
    Resource,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import without_required_affinity
from kubesched.scheduler.plugins.support.normalize import in_proportion
from kubesched.scheduler.plugins.support.per_template import PerTemplate

NAME: Final = "NodeAffinity"
NOT_ENFORCED: Final = Reason.unresolvable("node(s) didn't match scheduler-enforced node affinity")
NOT_WANTED: Final = Reason.unresolvable("node(s) didn't match Pod's node affinity/selector")
CONFLICT: Final = "pod affinity terms conflict"

_NODE_NAME_FIELD: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class _Requirement:
    """What a pod requires of its node: labels, and one of the terms of its affinity if it has one."""

    labels: dict[str, str]
    affinity: NodeMatcher | None
    node_names: frozenset[str] | None
    """The only nodes that can match, where every term names some; None: any node may."""

    @property
    def is_trivial(self) -> bool:
        return not self.labels and self.affinity is None

    def matching(self, nodes: NodeView) -> Booleans:
        matching = matching_labels(self.labels, nodes)
        return matching if self.affinity is None else matching & matching_selector(self.affinity, nodes)

    def matches(self, node: Node) -> bool:
        labels, name = node.metadata.labels, node.metadata.name
        has_labels = all(labels.get(key) == value for key, value in self.labels.items())
        return has_labels and (self.affinity is None or self.affinity.matches(labels, name))


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Rejects nodes that the pod or the profile does not want; scores by the weights of the preferences that match."""

    name = NAME
    depends_on = DependsOn.NODE
    normalizes_by_value = True

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        """ConfigurationError for an added affinity that cannot be understood."""
        self._added, self._added_terms = _compile_added(args.added_affinity)
        self._required = PerTemplate(_requirement_of)
        self._preferred = PerTemplate(_preferred_terms)

    def signature(self, pod: PodTemplate) -> Hashable:
        affinity = pod.spec.affinity
        return (frozenset(pod.spec.node_selector.items()), affinity.node_affinity if affinity else None)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | tuple[PreFilterResult, Status]:
        required = self._required.of(pod.template)
        if required.is_trivial and self._added is None:
            return SKIP
        if required.node_names is None:
            return SUCCESS
        if not required.node_names:
            return Status.unresolvable(CONFLICT)
        return PreFilterResult(required.node_names), SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        is_unwanted = ~self._required.of(pod).matching(nodes)
        if self._added is None:
            return Verdict.rejects(nodes, where=is_unwanted, reason=NOT_WANTED)
        is_forbidden = ~matching_selector(self._added, nodes)
        return Verdict.first_of(nodes, (is_forbidden, NOT_ENFORCED), (is_unwanted, NOT_WANTED))

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        if pod.spec.node_selector:
            yield PodChange("had no node selector", lambda spec: msgspec.structs.replace(spec, node_selector={}))
        yield from without_required_affinity("node_affinity", "node affinity", pod.spec)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        try:
            preferred = self._preferred.of(pod.template)
        except InvalidObjectError as error:
            return Status.failed(error)
        return SKIP if preferred is None and self._added_terms is None else SUCCESS

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        """The sum of the weights of the preferences that the node meets."""
        scores = np.zeros(len(nodes), dtype=np.int64)
        for preferred in (*(self._added_terms or ()), *(self._preferred.of(pod) or ())):
            scores += matching_term(preferred.term, nodes) * preferred.weight
        return scores

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return in_proportion(scores)

    def events_to_register(self) -> Sequence[EventHint]:
        node = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)
        return (EventHint(node, self._after_node_change, per_template=True),)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> Hint:
        """The node matches now and did not before. A term that cannot be understood is worth another attempt."""
        if self._added is not None and not self._added.matches(new.metadata.labels, new.metadata.name):
            return Hint.SKIP
        required = self._required.of(pod.template)
        matches = required.matches(new)
        if not matches and required.affinity is not None and required.affinity.problem:
            return Hint.QUEUE
        return Hint.QUEUE if matches and (old is None or not required.matches(old)) else Hint.SKIP


def _compile_added(added: Affinity | None) -> tuple[NodeMatcher | None, tuple[PreferredNodeTerm, ...] | None]:
    """The added affinity of the arguments; None where it has no such part."""
    if added is None:
        return None, None
    required = added.required_during_scheduling_ignored_during_execution
    preferred = added.preferred_during_scheduling_ignored_during_execution
    field = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    try:
        matcher = compile_node_selector_strictly(required) if required is not None else None
        field = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
        terms = compile_preferred_terms(preferred) if preferred else None
    except InvalidObjectError as error:
        raise ConfigurationError([f"parsing {field}: {error}"]) from error
    return matcher, terms


def _node_affinity(pod: PodTemplate) -> Affinity | None:
    return pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None


def _requirement_of(pod: PodTemplate) -> _Requirement:
    affinity = _node_affinity(pod)
    selector = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return _Requirement(
        labels=pod.spec.node_selector,
        affinity=compile_node_selector(selector) if selector is not None else None,
        node_names=_named_nodes(selector) if selector is not None else None,
    )


def _named_nodes(selector: NodeSelector) -> frozenset[str] | None:
    """The nodes that the terms name; None if some term names none, or if there is no term."""
    named: set[str] = set()
    for term in selector.node_selector_terms:
        fields = [
            frozenset(field.values)
            for field in term.match_fields
            if field.key == _NODE_NAME_FIELD and field.operator == "In"
        ]
        if not fields:
            return None
        named |= frozenset.intersection(*fields)
    return frozenset(named) if selector.node_selector_terms else None


def _preferred_terms(pod: PodTemplate) -> tuple[PreferredNodeTerm, ...] | None:
    """The pod's own preferences; None if it states none. InvalidObjectError if one cannot be understood."""
    affinity = _node_affinity(pod)
    preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity is not None else ()
    return compile_preferred_terms(preferred) if preferred else None
