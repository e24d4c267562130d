"""Which pods belong to which group, and which of them have a node."""

from __future__ import annotations

from kubesched.objects import Pod
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import PodGroupState

_Key = tuple[str, str]


class PodGroups:
    """Implements `framework.PodGroupStates`. Written by the cache and by the event handlers of pending pods.

    Pods without a group need not be passed in: most callers look first, which costs less than the call.
    """

    def __init__(self) -> None:
        self._groups: dict[_Key, PodGroupState] = {}

    def get(self, namespace: str, name: str) -> PodGroupState | None:
        return self._groups.get((namespace, name))

    def add(self, info: PodInfo) -> None:
        """A pending pod is new or has changed."""
        group = self._joined(info.pod)
        if group is not None and info.uid not in group.assumed and info.uid not in group.assigned:
            group.unscheduled[info.uid] = info

    def assign(self, info: PodInfo) -> None:
        """A pod was seen bound."""
        group = self._joined(info.pod)
        if group is not None:
            group.unscheduled.pop(info.uid, None)
            group.assumed.pop(info.uid, None)
            group.assigned[info.uid] = info

    def assume(self, info: PodInfo) -> None:
        """A pod got its node. One that is gone in the meantime is ignored."""
        group = self._group(info.pod)
        if group is not None and group.unscheduled.pop(info.uid, None) is not None:
            group.assumed[info.uid] = info

    def forget(self, info: PodInfo) -> None:
        """A pod lost the node that it was assumed on. One that is gone in the meantime is ignored."""
        group = self._group(info.pod)
        if group is not None and group.assumed.pop(info.uid, None) is not None:
            group.unscheduled[info.uid] = info

    def remove(self, pod: Pod) -> None:
        """A pod is gone."""
        member_of, uid = pod.spec.scheduling_group, pod.metadata.uid
        group = self._group(pod)
        if member_of is None or group is None:
            return
        for place in (group.unscheduled, group.assumed, group.assigned):
            place.pop(uid, None)
        if not group.pod_count:
            del self._groups[pod.metadata.namespace, member_of.pod_group_name]

    def _group(self, pod: Pod) -> PodGroupState | None:
        """The pod's group, as far as it is known."""
        member_of = pod.spec.scheduling_group
        return None if member_of is None else self._groups.get((pod.metadata.namespace, member_of.pod_group_name))

    def _joined(self, pod: Pod) -> PodGroupState | None:
        """The pod's group, from now on known; None if it belongs to none."""
        member_of = pod.spec.scheduling_group
        if member_of is None:
            return None
        return self._groups.setdefault((pod.metadata.namespace, member_of.pod_group_name), PodGroupState())
