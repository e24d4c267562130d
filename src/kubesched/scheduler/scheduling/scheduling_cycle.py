"""The scheduling cycle: from a pod to a node, in one go.

    decide: PreFilter ► Filter ► (PostFilter) ► PreScore ► Score ► select
    commit: assume ► Reserve ► Permit

Up to here it never waits, so no other event can come in between: it is atomic. Unless there are extenders: these are
asked after Filter. If anything has changed when they answer, the nodes are filtered again, and the choice among those
that the extenders named is atomic, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import msgspec

from kubesched.errors import IllegalTransitionError, KubeschedError, PluginError, what_and_where
from kubesched.objects import Pod
from kubesched.scheduler.engine import Evaluator, FeasibleNodes, Ranking
from kubesched.scheduler.framework import CycleState, Diagnosis, NominatingInfo, QueuedPod, Status
from kubesched.scheduler.framework.cycle_state import NOBODY
from kubesched.scheduler.framework.diagnosis import ListedStatuses
from kubesched.scheduler.framework.stopwatch import timed_point_async
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.runtime.timed_points import Points, points_of
from kubesched.scheduler.scheduling.decision_trace import FILTERED, SCORED, TRACED_FROM, DecisionTrace
from kubesched.scheduler.scheduling.extenders import EXTENDER, ExtenderChain
from kubesched.scheduler.scheduling.node_subset import NodeSubset
from kubesched.scheduler.scheduling.observer import DecisionObserver
from kubesched.scheduler.scheduling.sampling import Sampler
from kubesched.scheduler.scheduling.score_log import log_scores
from kubesched.scheduler.state.cache import Cache
from kubesched.telemetry.logging import log

CLEAR_NOMINATION = NominatingInfo("")
NO_NODES = "no nodes available to schedule pods"
NO_SCORES: Final[Mapping[str, int]] = MappingProxyType({})

NodeChoice = Callable[[Pod, Ranking], str]
"""Which of a pod's best nodes it gets."""


class Decision(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The node that a pod gets; once it is committed, the pod counts there, and what is left is to bind it."""

    node_name: str
    state: CycleState
    points: Points
    """What is to run for it: the profile, timed in some attempts."""
    evaluated: int = 0
    feasible: int = 0


@dataclass(frozen=True, slots=True)
class Rejected:
    """The pod was not placed. `diagnosis` is there if it does not fit; otherwise something went wrong."""

    status: Status
    diagnosis: Diagnosis | None = None
    nominating: NominatingInfo | None = CLEAR_NOMINATION
    state: CycleState | None = None
    """The attempt's state, if it came as far as PostFilter."""


class SchedulingCycle:
    """One profile's cycle."""

    def __init__(
        self,
        profile: Profile,
        evaluator: Evaluator,
        cache: Cache,
        extenders: ExtenderChain,
        sampler: Sampler,
        choose: NodeChoice | None = None,
        observer: DecisionObserver | None = None,
    ) -> None:
        """`choose` settles ties; without it, chance does."""
        self._profile = profile
        self._evaluator = evaluator
        self._cache = cache
        self._extenders = extenders
        self._sampler = sampler
        self._choose = choose
        self._observer = observer

    async def decide(
        self,
        queued: QueuedPod,
        within: NodeSubset | None = None,
        preempts: bool = True,
        placed_group_members: Set[str] = NOBODY,
    ) -> Decision | Rejected:
        """Choose a node for a pod, among all or as if there were no others than those `within`.

        If no node takes it, PostFilter is asked, unless `preempts` is False. `placed_group_members` are pods of its
        group that were tried before it. Never raises because of a plugin, an extender or the pod: those are rejections.
        """
        pod = queued.info.pod
        trace = DecisionTrace(self._profile.handle.clock, pod) if log.loudest >= TRACED_FROM else None
        observer = self._observer
        started = 0.0 if observer is None else self._profile.handle.clock.monotonic()
        try:
            if not self._cache.cluster.nodes.node_count:
                return Rejected(Status.unresolvable(NO_NODES))
            fit, extender_scores = self._filter(queued, within, placed_group_members), NO_SCORES
            if pod.status.nominated_node_name or not self._extenders.is_empty:
                fit, extender_scores = await self._ask_extenders(queued, within, fit)
            else:
                self._sampler.apply(fit, self._profile)
            feasible = fit.count
            filtered = 0.0 if observer is None else self._profile.handle.clock.monotonic()
            if trace:
                trace.step(FILTERED)
            if not feasible:
                if trace:
                    trace.log_if_long()
                return await self._post_filter(queued, fit, preempts=preempts)
            node_name = fit.names()[0] if feasible == 1 else self._pick_best(fit, extender_scores)
        except KubeschedError as error:
            return Rejected(Status.failed(error))
        except Exception as error:
            log.error("Scheduling cycle failed", error, pod=queued.info.key)
            return Rejected(Status.failed(what_and_where(error)))
        if trace:
            if feasible > 1:
                trace.step(SCORED)
            trace.log_if_long()
        if observer is not None:
            observer.decided(queued, node_name, fit, (self._profile, self._evaluator), (started, filtered))
        return Decision(node_name, fit.state, points_of(self._profile, fit.state), fit.evaluated, feasible)

    async def _ask_extenders(
        self, queued: QueuedPod, within: NodeSubset | None, fit: FeasibleNodes
    ) -> tuple[FeasibleNodes, Mapping[str, int]]:
        """The nominated node, if it still fits; else the nodes that extenders leave, and their scores by name."""
        nominated = queued.info.pod.status.nominated_node_name
        if nominated and (node := fit.node(nominated)) is not None:
            # A nominated node that still fits is taken without looking at the others (evaluateNominatedNode).
            asked_at = self._revision()
            is_accepted = await self._extenders.accept(queued.info.pod, node)
            if self._revision() != asked_at:
                fit = self._filter(queued, within, fit.state.placed_group_members)
            if is_accepted and fit.node(nominated) is not None:
                fit.keep_only_node(nominated)
                return fit, NO_SCORES
        self._sampler.apply(fit, self._profile)
        if self._extenders.is_empty:
            return fit, NO_SCORES
        asked_at = self._revision()
        answer = await self._extenders.ask(queued.info.pod, fit.nodes())
        if self._revision() != asked_at:
            fit = self._filter(queued, within, fit.state.placed_group_members)
        fit.keep_only_named(answer.fitting, answer.rejected, by=EXTENDER)
        return fit, answer.scores

    def _filter(self, queued: QueuedPod, within: NodeSubset | None, placed_group_members: Set[str]) -> FeasibleNodes:
        fit = self._evaluator.filter(queued.info, placed_group_members)
        if within is not None:
            fit.confine_to(within.rows())
        return fit

    def _revision(self) -> tuple[int, int]:
        """Changes with any change of a node or of the pods on it: then the rows of a fit may be other nodes'."""
        nodes = self._cache.cluster.nodes
        return nodes.node_changes.position, nodes.pod_changes.position

    async def _post_filter(self, queued: QueuedPod, fit: FeasibleNodes, *, preempts: bool) -> Rejected:
        """No node takes the pod: let preemption (and other PostFilter plugins) try to change that."""
        diagnosis = fit.diagnosis()
        nominating: NominatingInfo | None = CLEAR_NOMINATION
        if preempts and self._profile.post_filters:
            stopwatch, state = fit.state.stopwatch, fit.state
            run = self._profile.post_filter
            result, status = await timed_point_async(stopwatch, "PostFilter", run, state, queued.info, diagnosis)
            diagnosis.post_filter_message = status.message
            nominating = result.nominating if result is not None else None
        return Rejected(Status.unschedulable(diagnosis.message()), diagnosis, nominating, fit.state)

    def _pick_best(self, fit: FeasibleNodes, extender_scores: Mapping[str, int]) -> str:
        ranking = self._evaluator.rank(fit)
        if log.loudest >= 10:
            log_scores(fit, self._evaluator.score(fit), self._profile.score_weights, extender_scores)
        if not extender_scores:
            return ranking.best() if self._choose is None else self._choose(fit.pod.pod, ranking)
        totals = {name: total + extender_scores.get(name, 0) for name, total in ranking.by_name().items()}
        highest = max(totals.values())
        return self._profile.handle.random.choice([name for name, total in totals.items() if total == highest])

    def commit(self, queued: QueuedPod, decision: Decision) -> Decision | Rejected:
        """Assume, Reserve, Permit; a refusal undoes it all."""
        if not self._extenders.is_empty and self._cache.cluster.view().position_of(decision.node_name) is None:
            # A group is committed once extenders were asked about all of its pods.
            return Rejected(Status.failed(f"node {decision.node_name} is gone"))
        rejected = self.assume_and_reserve(queued, decision)
        if rejected is not None:
            return rejected
        state, profile, pod = decision.state, self._profile, queued.info.pod
        status = decision.points.permit(state, pod, decision.node_name)
        if status.is_success or status.is_wait:
            if state.pods_to_activate:
                profile.handle.activate(state.pods_to_activate.values())
                state.pods_to_activate = {}
            return decision
        self.undo(queued, decision)
        return rejected_on(decision.node_name, status)

    def assume_and_reserve(self, queued: QueuedPod, decision: Decision) -> Rejected | None:
        """The pod counts on its node from now on; None, unless that was refused."""
        pod, profile = queued.info.pod, self._profile
        try:
            info = profile.assumed_pod(decision.state, queued.info, decision.node_name)
            self._cache.assume(info, decision.node_name)
        except (IllegalTransitionError, PluginError) as error:
            return Rejected(Status.failed(error))
        profile.handle.nominator.remove(pod)
        status = decision.points.reserve(decision.state, pod, decision.node_name)
        if status.is_success:
            return None
        self.undo(queued, decision)
        return rejected_on(decision.node_name, status)

    def undo(self, queued: QueuedPod, decision: Decision) -> None:
        """The pod no longer counts on its node."""
        decision.points.unreserve(decision.state, queued.info.pod, decision.node_name)
        self._cache.forget(queued.info.pod)


def rejected_on(node_name: str, status: Status) -> Rejected:
    """A plugin of Reserve or Permit refused the chosen node."""
    if not status.is_rejection:
        return Rejected(status)
    diagnosis = Diagnosis(ListedStatuses({node_name: status}), node_count=1)
    diagnosis.add(status)
    return Rejected(Status(status.code, (diagnosis.message(),)), diagnosis)
