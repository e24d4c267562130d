"""The plugin itself: when it has something to say, and how long that stays true."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from kubesched.config.behaviours import ANY_ANTI_AFFINITY_TERM_WAKES, NAMESPACE_SELECTOR_IS_RESOLVED
from kubesched.config.plugin_args import InterPodAffinityArgs
from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod
from kubesched.scheduler.columns import Integers, LabelColumn, NodeView, PodInfo, PodTemplate, Positions
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    CycleState,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    PodChange,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.framework.pod_changes import without_required_affinity
from kubesched.scheduler.plugins.inter_pod_affinity.changes import rows_with_new_score, rows_with_new_verdict
from kubesched.scheduler.plugins.inter_pod_affinity.filtering import judge
from kubesched.scheduler.plugins.inter_pod_affinity.hints import AffinityHints
from kubesched.scheduler.plugins.inter_pod_affinity.plan import EMPTY, NAME, Plans
from kubesched.scheduler.plugins.inter_pod_affinity.scoring import normalized, raw_scores, scores_by_domain
from kubesched.scheduler.plugins.inter_pod_affinity.terms import parse_problem


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Pods near to, or away from, other pods, as their terms and those of placed pods want it."""

    name = NAME
    depends_on = DependsOn.NODE
    normalizes_by_value = True

    def __init__(self, args: InterPodAffinityArgs | None, handle: Handle) -> None:
        args = args or InterPodAffinityArgs()
        self._cluster = handle.cluster
        self._ignores_preferences_of_others = args.ignore_preferred_terms_of_existing_pods
        self._plans = Plans(
            handle.cluster,
            args.hard_pod_affinity_weight,
            resolves_all=handle.gates.follows(NAMESPACE_SELECTOR_IS_RESOLVED),
        )
        self._hints = AffinityHints(any_anti_affinity_term=handle.gates.follows(ANY_ANTI_AFFINITY_TERM_WAKES))

    def external_version(self, pod: PodTemplate) -> Hashable:
        try:
            return self._plans.of(pod).external_version()
        except InvalidObjectError:
            return None

    def signature(self, pod: PodTemplate) -> Hashable:
        """Pods that no term speaks of, neither their own nor another's, are all the same."""
        try:
            return () if self._plans.of(pod) is EMPTY else None
        except InvalidObjectError:
            return None

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        """With few domains every placed pod changes many scores: they are computed by domain, in every cycle."""
        try:
            return DependsOn.NODE if self._plans.of(pod).preferred_topology is None else DependsOn.ANYTHING
        except InvalidObjectError:
            return DependsOn.NODE

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        try:
            plan = self._plans.of(pod.template)
        except InvalidObjectError:
            return Status.unresolvable(f"parsing pod: {parse_problem(pod.template)}")
        if plan.has_required_terms or any(item.is_anywhere() for item in plan.existing_anti_affinity):
            return SUCCESS
        return SKIP

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        own_namespace_labels = self._cluster.namespace_labels.get(pod.namespace, {})
        return judge(self._plans.of(pod), pod, nodes, own_namespace_labels)

    def filter_changes(self, pod: PodTemplate, since: Hashable) -> Positions | None:
        return rows_with_new_verdict(self._plans.of(pod), since)

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        yield from without_required_affinity("pod_affinity", "pod affinity", pod.spec)
        yield from without_required_affinity("pod_anti_affinity", "pod anti-affinity", pod.spec)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        try:
            plan = self._plans.of(pod.template)
        except InvalidObjectError:
            return Status.failed(f"failed to parse pod: {parse_problem(pod.template)}")
        has_preferences = pod.template.preferred_affinity or pod.template.preferred_anti_affinity
        if self._ignores_preferences_of_others and not has_preferences:
            return SKIP
        return SUCCESS if any(item.is_anywhere() for item in plan.preferences) else SKIP

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        return raw_scores(self._plans.of(pod), nodes)

    def score_changes(self, pod: PodTemplate, since: Hashable) -> Positions | None:
        return rows_with_new_score(self._plans.of(pod), since)

    def score_by_domain(self, state: CycleState, pod: PodTemplate) -> tuple[LabelColumn, Integers] | None:
        return scores_by_domain(self._plans.of(pod))

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return normalized(scores)

    def events_to_register(self) -> Sequence[EventHint]:
        return self._hints.events()
