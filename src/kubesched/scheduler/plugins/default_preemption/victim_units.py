"""What is evicted as a whole: a pod, or all pods of a group that wants it so."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kubesched.objects import PodGroup
from kubesched.scheduler.framework import ObjectStore, PodGroupStates, PodInfo


@dataclass(slots=True)
class Unit:
    """Pods that go together, with the priority that counts for all of them."""

    pods: list[PodInfo]
    priority: int
    counts_all_starts: bool = False

    @property
    def importance(self) -> tuple[int, bool, int, float]:
        """The most important units come first (moreImportantVictim).

        Those are of higher priority, then pods of a group, even where they are evicted one by one; then more pods,
        then those that started earlier. Up to 1.36, of a group only the pod that was found first counted for that.
        """
        first = self.pods[0].pod
        is_alone = first.spec.scheduling_group is None
        counted = self.pods if self.counts_all_starts else self.pods[:1]
        return -self.priority, is_alone, -len(self.pods), min(_start_of(info) for info in counted)


def units_of(pods: Iterable[PodInfo], groups: ObjectStore[PodGroup]) -> list[Unit]:
    """The units that these pods form, in the order in which they are found (newDomainForWorkloadPreemption of 1.36)."""
    units: dict[str, Unit] = {}
    for info in pods:
        group = _group_of(info, groups)
        if group is None or not group.is_disrupted_as_a_whole:
            units[info.uid] = Unit([info], info.priority)
        elif (unit := units.get(group.metadata.uid)) is not None:
            unit.pods.append(info)
        else:
            units[group.metadata.uid] = Unit([info], group.priority)
    return list(units.values())


def units_with_groups(pods: Iterable[PodInfo], groups: ObjectStore[PodGroup], states: PodGroupStates) -> list[Unit]:
    """The same as 1.37 has it: a group that goes as a whole goes from all nodes, and a pod of a group has the priority
    of its group (getCrossNodesVictims).
    """
    units: dict[str, Unit] = {}
    for info in pods:
        group = _group_of(info, groups)
        priority = info.priority if group is None else group.priority
        if group is None or not group.is_disrupted_as_a_whole:
            units[info.uid] = Unit([info], priority, counts_all_starts=True)
        elif group.metadata.uid not in units:
            state = states.get(group.metadata.namespace, group.metadata.name)
            members = list(state.scheduled()) if state is not None else []
            units[group.metadata.uid] = Unit(members or [info], priority, counts_all_starts=True)
    return list(units.values())


def _group_of(info: PodInfo, groups: ObjectStore[PodGroup]) -> PodGroup | None:
    member_of = info.pod.spec.scheduling_group
    return None if member_of is None else groups.get(member_of.pod_group_name, info.pod.metadata.namespace)


def _start_of(info: PodInfo) -> float:
    started = info.pod.status.start_time
    return math.inf if started is None else started.timestamp()
