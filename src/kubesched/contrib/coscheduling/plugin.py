"""The extension points of Coscheduling.

A pod of a group gets a node only if the group has enough pods (PreFilter). It waits there (Permit) until so many of the
group have one, too; when one of them finds none, those that wait give theirs back (PostFilter, Unreserve).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

from kubesched.contrib.coscheduling.members import ForAWhile, Members
from kubesched.contrib.coscheduling.pod_group import PodGroup, group_key, group_name
from kubesched.contrib.coscheduling.shortage import PODS, as_go_prints_it, shortage
from kubesched.framework import (
    FIXED,
    SUCCESS,
    WAIT,
    Action,
    ClusterEvent,
    CycleState,
    DependsOn,
    Diagnosis,
    EventHint,
    Handle,
    NodeView,
    PermitPlugin,
    Plugin,
    PluginArgs,
    Pod,
    PodInfo,
    PodTemplate,
    PostFilterPlugin,
    PostFilterResult,
    PreFilterPlugin,
    Quantity,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    Resource,
    Status,
)

NAME: Final = "Coscheduling"
NO_GROUP: Final = Status.unschedulable("can not find pod group")
GROUP_NOT_FOUND: Final = Status.unschedulable("PodGroup not found")
DEFAULT_WAIT: Final = 60.0
_PERMITTED_SECONDS: Final = 3.0
"""For how long a group that has its least resources is not checked again, where `permitWaitingTimeSeconds` is 0."""
_BEFORE_ALL: Final = float("-inf")


class CoschedulingArgs(PluginArgs, frozen=True):
    """`pod_group_reject_percentage`: a group that lacks no more of its pods than this is not rejected as a whole."""

    permit_waiting_time_seconds: int = 60
    pod_group_backoff_seconds: int = 0
    pod_group_reject_percentage: int = 10

    def problems(self) -> list[str]:
        limits = {
            "permitWaitingTimeSeconds": (self.permit_waiting_time_seconds, None, "must be greater than 0"),
            "podGroupBackoffSeconds": (self.pod_group_backoff_seconds, None, "must be greater than 0"),
            "podGroupRejectPercentage": (self.pod_group_reject_percentage, 100, "must be between 0 and 100"),
        }
        return [
            f"{name}: Invalid value: {value}: {problem}"
            for name, (value, most, problem) in limits.items()
            if value < 0 or (most is not None and value > most)
        ]


class Coscheduling(QueueSortPlugin, PreFilterPlugin, PostFilterPlugin, ReservePlugin, PermitPlugin):
    """Pods with the label scheduling.x-k8s.io/pod-group start together; others are none of its business."""

    name = NAME

    def __init__(self, args: Any, handle: Handle) -> None:
        self._args = CoschedulingArgs.of(args)
        self._handle = handle
        self._groups = handle.informer(PodGroup)
        self._members = Members(handle.objects.of(Pod))
        self._have_resources = ForAWhile(handle.clock)
        self._backed_off = ForAWhile(handle.clock)
        self._failed_at: dict[str, float] = {}
        self._wall_time = handle.clock.time() - handle.clock.monotonic()

    def take_over(self, previous: Plugin) -> None:
        """Pods that wait for each other go on waiting, and groups that failed are remembered."""
        if isinstance(previous, Coscheduling):
            self._members.take_over(previous._members)
            self._backed_off, self._failed_at = previous._backed_off, previous._failed_at

    # ---- what answers depend on ----------------------------------------------------------------------------------

    def concerns(self, pod: PodTemplate) -> bool:
        return bool(group_name(pod.labels))

    def depends_on_for(self, pod: PodTemplate) -> DependsOn:
        """A rejection names the pod, and is not kept. While nothing holds a group up, it is as if there were none."""
        return DependsOn.ANYTHING if self._is_held_up(pod) else DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        return (pod.namespace, group_name(pod.labels)) if self._is_held_up(pod) else "may start"

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._is_held_up(pod) if group_name(pod.labels) else FIXED

    def _is_held_up(self, pod: PodTemplate) -> bool:
        name = group_name(pod.labels)
        group = self._groups.get(name, pod.namespace) if name else None
        return group is not None and bool(self._obstacle(group, f"{pod.namespace}/{name}", ""))

    def events_to_register(self) -> Sequence[EventHint]:
        return [
            EventHint(ClusterEvent(Resource.POD, Action.ADD)),
            EventHint(ClusterEvent.of(PodGroup, Action.ADD | Action.UPDATE)),
        ]

    # ---- the queue -----------------------------------------------------------------------------------------------

    def sort_key(self, pod: QueuedPod) -> tuple[int, float, str]:
        """Pods of a group follow each other. One that failed goes behind those that came before its failure."""
        return (-pod.info.priority, self._time_of(pod), pod.info.key)

    def _time_of(self, queued: QueuedPod) -> float:
        pod = queued.info.pod
        came = queued.timestamp if queued.initial_attempt is None else queued.initial_attempt
        key = group_key(pod)
        if not key:
            return came + self._wall_time
        if (failed := self._failed_at.get(key)) is not None:
            return failed
        if (group := self._group(pod)) is None:
            return came + self._wall_time
        created = group.metadata.creation_timestamp
        return _BEFORE_ALL if created is None else created.timestamp()

    # ---- one pod -------------------------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        group = self._group(pod.pod)
        if group is None:
            return SUCCESS
        problem = self._obstacle(group, group_key(pod.pod), pod.pod.metadata.name)
        return Status.unresolvable(problem) if problem else SUCCESS

    def _obstacle(self, group: PodGroup, key: str, pod_name: str) -> str:
        """Why the group cannot start now; empty if it might."""
        if key in self._backed_off:
            return f"podGroup {key} failed recently"
        pods, needed = self._members.of(key), group.spec.min_member
        if len(pods) < needed:
            return (
                f"pre-filter pod {pod_name} cannot find enough sibling pods, "
                f"current pods number: {len(pods)}, minMember of group: {needed}"
            )
        if len(pods) - sum(bool(pod.spec.scheduling_gates) for pod in pods.values()) < needed:
            return f"pre-filter pod {pod_name} cannot proceed due to gated pods in the same PodGroup"
        least = group.spec.min_resources
        if least is None or key in self._have_resources:
            return ""
        wanted = {**least, PODS: Quantity.of(needed)}
        missing = shortage(self._handle.cluster.view(), group.metadata.namespace, group.metadata.name, wanted)
        if missing:
            return f"resource gap: {as_go_prints_it(missing)}"
        self._have_resources.add(key, self._args.permit_waiting_time_seconds or _PERMITTED_SECONDS)
        return ""

    async def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        """If one pod finds no node, others of its group will hardly find any: those that wait are let go."""
        group = self._group(pod.pod)
        if group is None:
            return PostFilterResult(), NO_GROUP
        key, needed = group_key(pod.pod), group.spec.min_member
        assigned = self._members.assigned(key)
        if assigned >= needed or (needed - assigned) / needed <= self._args.pod_group_reject_percentage / 100:
            return PostFilterResult(), Status.unschedulable()
        self._reject_waiting(pod.pod, "optimistic rejection in PostFilter")
        if self._args.pod_group_backoff_seconds and len(self._members.of(key)) >= needed:
            self._backed_off.add(key, self._args.pod_group_backoff_seconds)
        self._failed(key)
        name = pod.pod.metadata.name
        rejected = f"PodGroup {key} gets rejected due to Pod {name} is unschedulable even after PostFilter"
        return PostFilterResult(), Status.unschedulable(rejected)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        key = group_key(pod)
        if not key:
            return SUCCESS, 0
        group = self._group(pod)
        if group is None:
            return GROUP_NOT_FOUND, 0
        self._members.assign(pod)
        if self._members.assigned(key) >= group.spec.min_member:
            self._failed_at.pop(key, None)
            for member in self._members.of(key).values():
                if (waiting := self._handle.waiting_pod(member.metadata.uid)) is not None:
                    waiting.allow(self.name)
            return SUCCESS, 0
        if self._members.assigned(key) == 1:
            self._activate_siblings(key, pod)
        return WAIT, self._wait_of(group)

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """A pod that gives up its node takes the others with it."""
        if self._group(pod) is None:
            return
        self._members.unassign(pod)
        self._reject_waiting(pod, "rejection in Unreserve")
        self._failed(group_key(pod))

    # ---- the group -----------------------------------------------------------------------------------------------

    def _group(self, pod: Pod) -> PodGroup | None:
        name = group_name(pod.metadata.labels)
        return self._groups.get(name, pod.metadata.namespace) if name else None

    def _wait_of(self, group: PodGroup) -> float:
        default = float(self._args.permit_waiting_time_seconds)
        asked = group.spec.schedule_timeout_seconds
        return float(asked) if asked else default if asked == 0 else default or DEFAULT_WAIT

    def _activate_siblings(self, key: str, pod: Pod) -> None:
        templates = self._handle.cluster.templates
        others = [other for other in self._members.of(key).values() if other.metadata.uid != pod.metadata.uid]
        self._handle.activate([templates.info(other) for other in others])

    def _reject_waiting(self, pod: Pod, reason: str) -> None:
        key = group_key(pod)
        for waiting in self._handle.waiting_pods():
            if group_key(waiting.pod) == key:
                waiting.reject(self.name, reason)

    def _failed(self, key: str) -> None:
        """Its resources are checked again, and it goes to the back of the queue: it must not block others."""
        self._have_resources.discard(key)
        self._failed_at[key] = self._handle.clock.time()
