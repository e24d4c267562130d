"""The plugin itself: when it has something to say, and how long that stays true."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial

from kubesched.config.plugin_args import PodTopologySpreadArgs
from kubesched.objects import Pod
from kubesched.scheduler.columns import Integers, LabelColumn, NodeView, PodInfo, PodTemplate
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
from kubesched.scheduler.framework.pod_changes import without_item
from kubesched.scheduler.plugins.pod_topology_spread.constraints import Constraints
from kubesched.scheduler.plugins.pod_topology_spread.filtering import judge, skewed_domains
from kubesched.scheduler.plugins.pod_topology_spread.hints import Hints
from kubesched.scheduler.plugins.pod_topology_spread.plan import NAME, NOTHING, Plans
from kubesched.scheduler.plugins.pod_topology_spread.scoring import (
    normalized,
    raw_scores,
    scores_by_domain,
    topology_weights,
)


class PodTopologySpread(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Pods of a kind spread evenly over hosts, zones, or whatever a constraint names."""

    name = NAME
    depends_on = DependsOn.NODE
    normalizes_by_value = True

    def __init__(self, args: PodTopologySpreadArgs | None, handle: Handle) -> None:
        constraints = Constraints(args or PodTopologySpreadArgs(), handle)
        self._cluster = handle.cluster
        self._plans = Plans(handle.cluster, constraints)
        self._hints = Hints(constraints)

    def external_version(self, pod: PodTemplate) -> Hashable:
        """Which domains have too many pods, instead of how many: that changes less often.

        Scores rest on the counts themselves, and are asked for in every cycle.
        """
        plans = self._plans.of(pod)
        if not plans.hard.spreads:
            return plans.number if plans.soft.spreads else None
        return (plans.number, *[skewed_domains(spread).tobytes() for spread in plans.hard.spreads])

    def signature(self, pod: PodTemplate) -> Hashable:
        plans = self._plans.of(pod)
        return () if plans.hard is NOTHING and plans.soft is NOTHING else None

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        """The weights of topologies depend on which nodes are feasible."""
        return DependsOn.ANYTHING if self._plans.of(pod).soft.spreads else DependsOn.NODE

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        plan = self._plans.of(pod.template).hard
        if plan.problem:
            return Status.failed(f"get constraints from pod: {plan.problem}")
        return SUCCESS if plan.spreads else SKIP

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        return judge(self._plans.of(pod).hard, pod, nodes)

    def pod_changes(self, pod: Pod) -> Iterator[PodChange]:
        for constraint in pod.spec.topology_spread_constraints:
            if constraint.when_unsatisfiable == "DoNotSchedule":
                without = partial(without_item, "topology_spread_constraints", constraint)
                yield PodChange(f"were not spread over {constraint.topology_key}", without)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        plan = self._plans.of(pod.template).soft
        if plan.problem:
            return Status.failed(f"calculating preScoreState: {plan.problem}")
        if not plan.spreads or not self._cluster.nodes.node_count:
            return SKIP
        state.write(NAME, topology_weights(plan, nodes))
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        return raw_scores(self._plans.of(pod).soft, state.read(NAME, tuple), nodes)

    def score_by_domain(self, state: CycleState, pod: PodTemplate) -> tuple[LabelColumn, Integers] | None:
        return scores_by_domain(self._plans.of(pod).soft, state.read(NAME, tuple))

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        return normalized(scores)

    def events_to_register(self) -> Sequence[EventHint]:
        return self._hints.events()
