"""Who belongs to a group, who of them has a node, and what is remembered of a group for some time."""

from __future__ import annotations

from collections.abc import Mapping

from kubesched.contrib.coscheduling.pod_group import group_key
from kubesched.framework import Clock, ObjectStore, Pod


class Members:
    """The pods of each group, by the group's key; kept up to date with the pods that the informer knows."""

    def __init__(self, pods: ObjectStore[Pod]) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}
        self._assigned: dict[str, set[str]] = {}
        pods.subscribe(self._changed)
        for pod in pods:
            self._changed(None, pod)

    def of(self, group: str) -> Mapping[str, Pod]:
        """All pods of the group, by key."""
        return self._pods.get(group, {})

    def assigned(self, group: str) -> int:
        """How many of them have a node, or were given one that they wait on."""
        return len(self._assigned.get(group, ()))

    def assign(self, pod: Pod) -> None:
        self._assigned.setdefault(group_key(pod), set()).add(pod.metadata.name)

    def unassign(self, pod: Pod) -> None:
        """Idempotent."""
        group = group_key(pod)
        assigned = self._assigned.get(group)
        if assigned is not None:
            assigned.discard(pod.metadata.name)
            if not assigned:
                del self._assigned[group]

    def take_over(self, previous: Members) -> None:
        """Pods that wait on a node still do."""
        for group, names in previous._assigned.items():
            self._assigned.setdefault(group, set()).update(names)

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and (group := group_key(old)):
            self._pods[group].pop(old.key, None)
            if not self._pods[group]:
                del self._pods[group]
            if new is None and old.spec.node_name:
                self.unassign(old)
        if new is not None and (group := group_key(new)):
            self._pods.setdefault(group, {})[new.key] = new
            if old is None and new.spec.node_name:
                self.assign(new)


class ForAWhile:
    """Names that are remembered for so many seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def __contains__(self, name: str) -> bool:
        until = self._until.get(name)
        if until is None:
            return False
        if self._clock.monotonic() > until:
            del self._until[name]
            return False
        return True

    def add(self, name: str, seconds: float) -> None:
        """A name that is remembered already is not remembered for longer."""
        if name not in self:
            self._until[name] = self._clock.monotonic() + seconds

    def discard(self, name: str) -> None:
        self._until.pop(name, None)
