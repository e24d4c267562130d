"""GangScheduling: the pods of a group get their nodes all together, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubesched.config.behaviours import GROUPS_ARE_DECIDED_AS_ONE
from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.framework import (
    SUCCESS,
    Action,
    ClusterEvent,
    Code,
    CycleState,
    EventHint,
    Handle,
    Hint,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementProgress,
    PodGroupInfo,
    PodGroupState,
    PodInfo,
    PreEnqueuePlugin,
    Resource,
    Status,
)

NAME: Final = "GangScheduling"
PERMIT_TIMEOUT: Final = 5 * 60.0
"""Seconds that a pod waits for the rest of its gang."""

TOO_FEW_PODS: Final = "waiting for minCount pods from a gang to appear in scheduling queue"
WAITING_FOR_OTHERS: Final = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))


class GangScheduling(PreEnqueuePlugin, PermitPlugin, PlacementFeasiblePlugin):
    """Holds the pods of a gang back until `minCount` of them are there, and again until as many have a node."""

    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle
        self._groups = handle.objects.of(PodGroup)
        changed = EventHint(ClusterEvent(Resource.POD_GROUP, Action.UPDATE), _after_group_changed, per_template=True)
        self._events_of_changes = (changed,) if handle.gates.follows(GROUPS_ARE_DECIDED_AS_ONE) else ()

    def concerns(self, pod: PodTemplate) -> bool:
        return pod.spec.scheduling_group is not None

    def events_to_register(self) -> Sequence[EventHint]:
        return (
            EventHint(ClusterEvent(Resource.POD, Action.ADD), _after_pod_added, per_template=True),
            EventHint(ClusterEvent(Resource.POD_GROUP, Action.ADD), _after_group_added, per_template=True),
            *self._events_of_changes,
        )

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """The group must exist, and a gang must have enough pods that could be scheduled."""
        wanted = pod.pod.spec.scheduling_group
        if wanted is None:
            return SUCCESS
        group = self._groups.get(wanted.pod_group_name, pod.pod.metadata.namespace)
        if group is None:
            name = wanted.pod_group_name
            return Status.unresolvable(f'waiting for pods\'s pod group "{name}" to appear in scheduling queue')
        gang = group.spec.scheduling_policy.gang
        if gang is None or self._state(group).pod_count >= gang.min_count:
            return SUCCESS
        return Status.unresolvable(TOO_FEW_PODS)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Wait until enough pods of the gang have a node; the one that completes it lets all others go."""
        wanted = pod.spec.scheduling_group
        if wanted is None:
            return SUCCESS, 0
        group = self._groups.get(wanted.pod_group_name, pod.metadata.namespace)
        if group is None:
            name = f"{pod.metadata.namespace}/{wanted.pod_group_name}"
            problem = f'podgroup.scheduling.k8s.io "{wanted.pod_group_name}" not found'
            return Status.failed(f"failed to get podGroup {name}: {problem}"), 0
        gang = group.spec.scheduling_policy.gang
        if gang is None:
            return SUCCESS, 0
        known = self._state(group)
        if known.scheduled_count < gang.min_count:
            self._handle.activate(list(known.unscheduled.values()))
            return WAITING_FOR_OTHERS, PERMIT_TIMEOUT
        for uid in known.assumed:
            if (waiting := self._handle.waiting_pod(uid)) is not None:
                waiting.allow(NAME)
        return SUCCESS, 0

    def placement_feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        """A gang needs `minCount` pods with a node, any other group one."""
        known = self._groups.get(group.name, group.namespace)
        gang = known.spec.scheduling_policy.gang if known is not None else None
        min_count = gang.min_count if gang is not None else 1
        so_far = f"{progress.scheduled} scheduled, {progress.remaining} remaining"
        if progress.remaining + progress.scheduled < min_count:
            return Status.unschedulable(f"minCount ({min_count}) cannot be satisfied: {so_far}")
        if progress.scheduled < min_count:
            return Status(Code.WAIT, (f"minCount ({min_count}) is not yet satisfied: {so_far}",))
        return SUCCESS

    def _state(self, group: PodGroup) -> PodGroupState:
        metadata = group.metadata
        return self._handle.pod_groups.get(metadata.namespace, metadata.name) or PodGroupState()


def _after_pod_added(pod: PodInfo, old: None, new: Pod) -> Hint:
    """Another pod of the same group may complete the gang."""
    mine = pod.template.spec.scheduling_group
    is_of_group = (
        mine is not None and new.metadata.namespace == pod.template.namespace and new.spec.scheduling_group == mine
    )
    return Hint.QUEUE if is_of_group else Hint.SKIP


def _after_group_added(pod: PodInfo, old: None, new: PodGroup) -> Hint:
    """The pod's own group is there now."""
    mine = pod.template.spec.scheduling_group
    is_mine = mine is not None and new.metadata.key == f"{pod.template.namespace}/{mine.pod_group_name}"
    return Hint.QUEUE if is_mine else Hint.SKIP


def _after_group_changed(pod: PodInfo, old: PodGroup, new: PodGroup) -> Hint:
    """The pod's own gang needs fewer pods than before."""
    before, now = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
    if before is None or now is None or now.min_count >= before.min_count:
        return Hint.SKIP
    return _after_group_added(pod, None, new)
