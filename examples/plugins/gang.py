"""All or nothing: the pods of a gang start together, or none of them does.

A pod belongs to a gang by two labels: `example.com/gang: NAME` and `example.com/gang-size: "4"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesched.framework import (
    SKIP,
    SUCCESS,
    WAIT,
    Action,
    ClusterEvent,
    CycleState,
    EventHint,
    Handle,
    Hint,
    NodeView,
    PermitPlugin,
    PodInfo,
    PodTemplate,
    PreFilterPlugin,
    ReservePlugin,
    Resource,
    Status,
    WaitingPod,
)
from kubesched.objects import Pod

GANG = "example.com/gang"
SIZE = "example.com/gang-size"

GangKey = tuple[str, str | None]
"""Its namespace and its name."""


class Gang(PreFilterPlugin, ReservePlugin, PermitPlugin):
    """A member keeps its node until enough others have one, too; if time runs out, all give theirs back."""

    name = "Gang"

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        self._handle = handle
        self._seconds = float((args or {}).get("waitSeconds", 30))
        self._early: dict[GangKey, dict[str, PodInfo]] = {}
        """Members that came before their gang was complete, by uid."""

    def concerns(self, pod: PodTemplate) -> bool:
        return GANG in pod.labels

    def events_to_register(self) -> Sequence[EventHint]:
        """What may help a gang that gave its nodes back: room. (Early members are woken by `permit`.)"""
        return (
            EventHint(ClusterEvent(Resource.POD, Action.DELETE), _is_of_another_gang),
            EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE)),
        )

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        """An incomplete gang takes no room from others."""
        if GANG not in pod.pod.metadata.labels:
            return SKIP
        there, needed = sum(1 for _ in self._members(pod.pod)), _size(pod.pod)
        if there < needed:
            self._early.setdefault(_gang(pod.pod), {})[pod.uid] = pod
            return Status.unresolvable(f"{there} of {needed} pods of the gang exist")
        return SUCCESS

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        waiting = list(self._waiting(pod))
        bound = sum(member.spec.node_name != "" for member in self._members(pod))
        if len(waiting) + bound + 1 < _size(pod):
            self._handle.activate(self._early.pop(_gang(pod), {}).values())
            return WAIT, self._seconds
        for member in waiting:
            member.allow(self.name)
        return SUCCESS, 0

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """One that does not make it takes the others along: they would hold their nodes in vain."""
        for member in self._waiting(pod):
            member.reject(self.name, f"{pod.key} of the same gang has no node")

    def _members(self, pod: Pod) -> Iterator[Pod]:
        pods = self._handle.objects.of(Pod).in_namespace(pod.metadata.namespace)
        return (other for other in pods if _gang(other) == _gang(pod))

    def _waiting(self, pod: Pod) -> Iterator[WaitingPod]:
        return (waiting for waiting in list(self._handle.waiting_pods()) if _gang(waiting.pod) == _gang(pod))


def _gang(pod: Pod) -> GangKey:
    return pod.metadata.namespace, pod.metadata.labels.get(GANG)


def _size(pod: Pod) -> int:
    return int(pod.metadata.labels[SIZE])


def _is_of_another_gang(rejected: PodInfo, old: Pod, new: Pod | None) -> Hint:
    return Hint.SKIP if _gang(rejected.pod) == _gang(old) else Hint.QUEUE
