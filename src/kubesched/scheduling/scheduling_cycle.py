"""The scheduling cycle: from a pod to a node, in one go.

    decide: PreFilter ► Filter ► (PostFilter) ► PreScore ► Score ► select
    commit: assume ► Reserve ► Permit

Without extenders it never waits, so no other event can come in between: it is atomic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kubesched.columns import NodeView
from kubesched.engine import Evaluator, Fit
from kubesched.errors import IllegalTransitionError, KubeschedError
from kubesched.framework import CycleState, Diagnosis, NominatingInfo, QueuedPod, Status
from kubesched.framework.diagnosis import ListedStatuses
from kubesched.framework.stopwatch import timed_point, timed_point_async
from kubesched.runtime.profile import Profile
from kubesched.scheduling.extenders import ExtenderChain
from kubesched.scheduling.sampling import Sampler
from kubesched.state.cache import Cache
from kubesched.telemetry.logging import log

CLEAR_NOMINATION = NominatingInfo("")
NO_NODES = "no nodes available to schedule pods"


class Decision(NamedTuple):
    """The node that a pod gets; once it is committed, the pod counts there, and what is left is to bind it."""

    node_name: str
    state: CycleState
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
        self, profile: Profile, evaluator: Evaluator, cache: Cache, extenders: ExtenderChain, sampler: Sampler
    ) -> None:
        self._profile = profile
        self._evaluator = evaluator
        self._cache = cache
        self._extenders = extenders
        self._sampler = sampler

    async def run(self, queued: QueuedPod) -> Decision | Rejected:
        """Place a pod. Never raises because of a plugin, an extender or the pod: those are rejections."""
        decision = await self.decide(queued)
        return decision if isinstance(decision, Rejected) else self.commit(queued, decision)

    async def decide(self, queued: QueuedPod, within: NodeView | None = None) -> Decision | Rejected:
        """Choose a node for a pod, among all or as if there were no others than those of a view."""
        try:
            if not self._cache.cluster.nodes.node_count:
                return Rejected(Status.unresolvable(NO_NODES))
            fit = await self._find_feasible(queued, within)
            feasible = fit.count
            if not feasible:
                return await self._post_filter(queued, fit)
            node_name = fit.names()[0] if feasible == 1 else await self._pick_best(fit)
        except KubeschedError as error:
            return Rejected(Status.failed(error))
        except Exception as error:
            log.error("Scheduling cycle failed", error, pod=queued.info.key)
            return Rejected(Status.failed(error))
        if not self._extenders.is_empty and self._cache.cluster.view().position_of(node_name) is None:
            return Rejected(Status.failed(f"node {node_name} is gone"))  # while extenders were asked
        return Decision(node_name, fit.state, fit.evaluated, feasible)

    async def _find_feasible(self, queued: QueuedPod, within: NodeView | None) -> Fit:
        fit = self._evaluator.filter(queued.info)
        if within is not None:
            fit.confine_to(within.row_ids())
        nominated = queued.info.pod.status.nominated_node_name
        if nominated and await self._takes_nominated(fit, nominated):
            return fit
        self._sampler.apply(fit, self._profile)
        if not self._extenders.is_empty:
            await self._extenders.filter(fit)
        return fit

    async def _takes_nominated(self, fit: Fit, node_name: str) -> bool:
        """A nominated node that still fits is taken without looking at the others."""
        row = self._cache.cluster.nodes.row_of.get(node_name)
        if row is None or not fit.takes(np.array([row])).all() or not await self._extenders.accept(fit, node_name):
            return False
        if self._cache.cluster.nodes.row_of.get(node_name) != row:
            return False  # gone while extenders were asked
        fit.keep_only(np.array([row]))
        return True

    async def _post_filter(self, queued: QueuedPod, fit: Fit) -> Rejected:
        """No node takes the pod: let preemption (and other PostFilter plugins) try to change that."""
        diagnosis = fit.diagnosis()
        nominating: NominatingInfo | None = CLEAR_NOMINATION
        if self._profile.post_filters:
            stopwatch, state = fit.state.stopwatch, fit.state
            run = self._profile.post_filter
            result, status = await timed_point_async(stopwatch, "PostFilter", run, state, queued.info, diagnosis)
            diagnosis.post_filter_message = status.message
            nominating = result.nominating if result is not None else None
        return Rejected(Status.unschedulable(diagnosis.message()), diagnosis, nominating, fit.state)

    async def _pick_best(self, fit: Fit) -> str:
        ranking = self._evaluator.rank(fit)
        if self._extenders.is_empty:
            return ranking.best()
        return await self._extenders.best(fit, ranking, self._profile.handle.random)

    def commit(self, queued: QueuedPod, decision: Decision) -> Decision | Rejected:
        """Assume, Reserve, Permit; a refusal undoes it all."""
        rejected = self.assume_and_reserve(queued, decision)
        if rejected is not None:
            return rejected
        state, profile = decision.state, self._profile
        permit = profile.permit
        status = timed_point(state.stopwatch, "Permit", permit, state, queued.info.pod, decision.node_name)
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
            self._cache.assume(queued.info, decision.node_name)
        except IllegalTransitionError as error:
            return Rejected(Status.failed(error))
        profile.handle.nominator.remove(pod)
        state = decision.state
        status = timed_point(state.stopwatch, "Reserve", profile.reserve, state, pod, decision.node_name)
        if status.is_success:
            return None
        self.undo(queued, decision)
        return rejected_on(decision.node_name, status)

    def undo(self, queued: QueuedPod, decision: Decision) -> None:
        """The pod no longer counts on its node."""
        self._profile.unreserve(decision.state, queued.info.pod, decision.node_name)
        self._cache.forget(queued.info.pod)


def rejected_on(node_name: str, status: Status) -> Rejected:
    """A plugin of Reserve or Permit refused the chosen node."""
    if not status.is_rejection:
        return Rejected(status)
    diagnosis = Diagnosis(ListedStatuses({node_name: status}), node_count=1)
    diagnosis.add(status)
    return Rejected(Status(status.code, (diagnosis.message(),)), diagnosis)
