"""What is evicted as a whole, for the sake of a pod group: a pod, or all pods of a group that wants it so."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kubesched.objects import PodGroup
from kubesched.scheduler.framework import ObjectStore, PodInfo

AS_A_WHOLE: Final = "PodGroup"
"""The disruption mode of a group whose pods are evicted together; any other one leaves them on their own."""


@dataclass(slots=True)
class Unit:
    """Pods that go together, with the priority that counts for all of them."""

    pods: list[PodInfo]
    priority: int

    @property
    def importance(self) -> tuple[int, bool, int, float]:
        """The most important units come first (moreImportantVictim).

        Those are of higher priority, then pods of a group, even where they are evicted one by one; then more pods,
        then those that started earlier. Of a group only the pod that was found first counts for that.
        """
        first = self.pods[0].pod
        started = first.status.start_time
        is_alone = first.spec.scheduling_group is None
        return -self.priority, is_alone, -len(self.pods), math.inf if started is None else started.timestamp()


def units_of(pods: Iterable[PodInfo], groups: ObjectStore[PodGroup]) -> list[Unit]:
    """The units that these pods form, in the order in which they are found (newDomainForWorkloadPreemption)."""
    units: dict[str, Unit] = {}
    for info in pods:
        group = _evicted_with(info, groups)
        if group is None:
            units[info.uid] = Unit([info], info.priority)
        elif (unit := units.get(group.metadata.uid)) is not None:
            unit.pods.append(info)
        else:
            units[group.metadata.uid] = Unit([info], group.priority)
    return list(units.values())


def _evicted_with(info: PodInfo, groups: ObjectStore[PodGroup]) -> PodGroup | None:
    """The group with which the pod is evicted; None if it is on its own."""
    member_of = info.pod.spec.scheduling_group
    if member_of is None:
        return None
    group = groups.get(member_of.pod_group_name, info.pod.metadata.namespace)
    return group if group is not None and group.spec.disruption_mode == AS_A_WHOLE else None
