"""For whom room is made: a pod, or a whole pod group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.framework import PodInfo


@dataclass(frozen=True, slots=True, eq=False)
class Preemptor:
    """`what` it is called in messages, and `pods` are those that must be tried again if an eviction fails."""

    object: Pod | PodGroup
    what: str
    priority: int
    pods: Sequence[PodInfo]

    @classmethod
    def of_pod(cls, pod: PodInfo) -> Preemptor:
        return cls(pod.pod, "pod", pod.priority, (pod,))

    @classmethod
    def of_group(cls, group: PodGroup, pods: Sequence[PodInfo]) -> Preemptor:
        """`pods` are those without a node: there is at least one."""
        return cls(group, "podgroup", group.priority, pods)

    @property
    def uid(self) -> str:
        return self.object.metadata.uid

    @property
    def key(self) -> str:
        return self.object.metadata.key

    @property
    def scheduler_name(self) -> str:
        """All pods of a group have the same."""
        return self.pods[0].pod.spec.scheduler_name
