"""A pod group that does not fit makes room as a whole (feature gate WorkloadAwarePreemption).

A plugin says which pods must go. It finds out by dry runs: the group is tried again as if some pods were gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from kubesched.objects import PodGroup
from kubesched.scheduler.framework import (
    Code,
    ObjectStores,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodInfo,
    QueuedPod,
    Status,
)
from kubesched.scheduler.runtime.calling import broken
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.pod_group_trial import GroupResult, GroupTrial
from kubesched.scheduler.state.cache import Cache

DEFAULT_PREEMPTION: Final = "DefaultPreemption"
"""No other plugin is asked, whatever it serves."""
NO_PLUGIN: Final = "default preemption plugin is not registered, workload aware preemption is disabled"
HAS_CONSTRAINTS: Final = "workload aware preemption is not supported for pod groups with scheduling constraints"


class CacheDryRun:
    """Implements `PodGroupDryRun` with the real cache: pods that are removed are set aside there."""

    def __init__(self, cache: Cache, try_group: Callable[[], Awaitable[GroupResult]]) -> None:
        self._cache = cache
        self._try_group = try_group
        self._removed: dict[str, None] = {}

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
        return (await self._try_group()).status

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
        status = await self._make_room(profile, trial, group, members)
        if status.is_success:
            result.waits_for_preemption = True
        elif status.is_rejection:
            result.status = replace(result.status, reasons=(*result.status.reasons, status.message))
        else:
            result.status = status

    async def _make_room(
        self, profile: Profile, trial: GroupTrial, group: PodGroupInfo, members: Sequence[QueuedPod]
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
        dry_run = CacheDryRun(self._cache, lambda: trial.run(group, members, preempts=False))
        try:
            return await plugin.pod_group_post_filter(known, group.pods, dry_run)
        except Exception as error:
            return broken(plugin, "PodGroupPostFilter", error)
        finally:
            dry_run.end()
