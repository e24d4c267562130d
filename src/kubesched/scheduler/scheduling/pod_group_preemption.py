"""A pod group that does not fit makes room as a whole (GenericWorkload; up to 1.36 WorkloadAwarePreemption).

Plugins say what is to be done, and which pods must go. They find out by dry runs: the group is tried again as if some
pods were gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kubesched.objects import PodGroup
from kubesched.scheduler.framework import (
    Code,
    CycleState,
    Nominations,
    ObjectStores,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodInfo,
    QueuedPod,
    Status,
)
from kubesched.scheduler.runtime.calling import broken
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.pod_group_as_one import TrialAsOne
from kubesched.scheduler.scheduling.pod_group_trial import GroupResult, GroupTrial, PodResult
from kubesched.scheduler.state.cache import Cache

DEFAULT_PREEMPTION: Final = "DefaultPreemption"
"""No other plugin is asked, whatever it serves."""
NO_PLUGIN: Final = "default preemption plugin is not registered, workload aware preemption is disabled"
HAS_CONSTRAINTS: Final = "workload aware preemption is not supported for pod groups with scheduling constraints"


class CacheDryRun:
    """Implements `PodGroupDryRun` with the real cache: pods that are removed are set aside there."""

    def __init__(
        self, cache: Cache, trial: GroupTrial, group: PodGroupInfo, members: Sequence[QueuedPod], result: GroupResult
    ) -> None:
        """`result` is what came of the trial without any supposition."""
        self._cache = cache
        self._trial = trial
        self._group = group
        self._members = members
        self._last = result
        self._removed: dict[str, None] = {}
        self.attempts = {pod.queued.uid: state for pod in result.pods if (state := _state_of(pod)) is not None}

    def placed(self) -> Iterator[PodInfo]:
        cluster = self._cache.cluster
        for name in self._cache.node_tree.order():
            yield from cluster.pods.on_node(cluster.nodes.row_of[name])

    def remove(self, pods: Iterable[PodInfo]) -> None:
        for info in pods:
            self._removed[info.uid] = None
            self._cache.set_aside(info.uid)

    def put_back(self, pods: Iterable[PodInfo]) -> None:
        for info in pods:
            self._removed.pop(info.uid, None)
            self._cache.put_back(info.uid)

    async def run(self) -> Status:
        # There are as many dry runs as there are pods that could go: the lease must be renewed in between.
        await asyncio.sleep(0)
        self._last = await self._trial.run(self._group, self._members, preempts=False)
        return self._last.status

    @property
    def nodes(self) -> Mapping[str, str]:
        return self._last.nodes

    async def keeps_nodes(self) -> bool:
        await asyncio.sleep(0)
        return isinstance(self._trial, TrialAsOne) and await self._trial.can_repeat(self._last)

    def end(self) -> None:
        """Everybody is there again."""
        for uid in self._removed:
            self._cache.put_back(uid)
        self._removed.clear()


class PodGroupPreemption:
    """Of all profiles' groups."""

    def __init__(self, cache: Cache, objects: ObjectStores) -> None:
        self._cache = cache
        self._groups = objects.of(PodGroup)

    async def attempt(
        self,
        profile: Profile,
        trial: GroupTrial,
        group: PodGroupInfo,
        members: Sequence[QueuedPod],
        result: GroupResult,
    ) -> None:
        """Make room, if the group was found unschedulable. `result` then waits for that, or says what is in the way."""
        if result.status.code is not Code.UNSCHEDULABLE:
            return
        status = await self._make_room(profile, trial, group, members, result)
        if status.is_success:
            result.waits_for_preemption = True
        elif status.is_rejection:
            result.status = replace(result.status, reasons=(*result.status.reasons, status.message))
        else:
            result.status = status

    async def _make_room(
        self,
        profile: Profile,
        trial: GroupTrial,
        group: PodGroupInfo,
        members: Sequence[QueuedPod],
        result: GroupResult,
    ) -> Status:
        plugin = profile.plugins.get(DEFAULT_PREEMPTION)
        if not isinstance(plugin, PodGroupPostFilterPlugin):
            return Status.unschedulable(NO_PLUGIN)
        known = self._groups.get(group.name, group.namespace)
        if known is None:
            problem = f'podgroup.scheduling.k8s.io "{group.name}" not found'
            return Status.failed(f"failed to get pod group object: {problem}")
        constraints = known.spec.scheduling_constraints
        if constraints is not None and constraints.topology:
            return Status.unschedulable(HAS_CONSTRAINTS)
        dry_run = CacheDryRun(self._cache, trial, group, members, result)
        try:
            _, status = await plugin.pod_group_post_filter(known, group.pods, dry_run)
            return status
        except Exception as error:
            return broken(plugin, "PodGroupPostFilter", error)
        finally:
            dry_run.end()


class PodGroupPostFilters(PodGroupPreemption):
    """As since Kubernetes 1.37: all plugins that serve PodGroupPostFilter are asked, in order."""

    async def attempt(
        self,
        profile: Profile,
        trial: GroupTrial,
        group: PodGroupInfo,
        members: Sequence[QueuedPod],
        result: GroupResult,
    ) -> None:
        """What plugins answer becomes part of `result` (applyPodGroupPostFilterResult)."""
        if result.status.code is not Code.UNSCHEDULABLE:
            return
        known = self._groups.get(group.name, group.namespace)
        if known is None:
            return
        dry_run = CacheDryRun(self._cache, trial, group, members, result)
        try:
            nominations, status = await self._ask(profile, known, group, dry_run)
        finally:
            dry_run.end()
        if not (status.is_success or status.is_rejection):
            result.status = status
            return
        result.waits_for_preemption = status.is_success
        result.nominations = nominations if status.is_success else {}
        result.status = replace(result.status, reasons=(*result.status.reasons, status.message))

    @staticmethod
    async def _ask(
        profile: Profile, known: PodGroup, group: PodGroupInfo, dry_run: CacheDryRun
    ) -> tuple[Nominations, Status]:
        """The first success or hopeless answer ends the round; other rejections add their reasons up."""
        reasons: list[str] = []
        for plugin in profile.pod_group_post_filters:
            try:
                nominations, status = await plugin.pod_group_post_filter(known, group.pods, dry_run)
            except Exception as error:
                return {}, broken(plugin, "PodGroupPostFilter", error)
            if status.is_success or status.code is Code.UNRESOLVABLE:
                return nominations, status
            if status.code is not Code.UNSCHEDULABLE:
                problem = f'error in "{plugin.name}" PodGroupPostFilter plugins: {status.message}'
                return {}, Status.failed(problem).by(plugin.name)
            reasons += status.reasons
        return {}, Status.unschedulable(*reasons)


def _state_of(pod: PodResult) -> CycleState | None:
    if pod.decision is not None:
        return pod.decision.state
    return pod.rejected.state if pod.rejected is not None else None
