"""Changes of a simulation's objects that can be undone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final

from msgspec.structs import replace

from kubesched.objects import Node, Pod
from kubesched.scheduler.columns import PodTable
from kubesched.scheduler.framework import ObjectStores
from kubesched.scheduler.scheduling.event_handlers import EventHandlers

_Key = tuple[type, str]
_KEPT_AS_THEY_WERE: Final = (Pod, Node)


class _Level:
    """What was there at `begin`, of all that was changed since then."""

    def __init__(self, free_rows: Sequence[int]) -> None:
        self.free_rows = free_rows
        self.objects: dict[_Key, Any] = {}
        self.rows: dict[str, int] = {}  # of pods that were on nodes, by uid


class ChangeLog:
    """Delivers changes to the event handlers. Between `begin` and its `undo` it keeps what was there before.

    These pairs may be nested. Undoing comes in two steps, since a pod that waits on permit needs a turn of the event
    loop to let go of its node: `withdraw` takes away the pods that have changed, `restore` brings back what was there.
    """

    def __init__(self, objects: ObjectStores, handlers: EventHandlers, pods: PodTable) -> None:
        self._objects = objects
        self._handlers = handlers
        self._pods = pods
        self._levels: list[_Level] = []
        self._restored = count(1)

    def add(self, obj: Any) -> None:
        self._note(obj)
        self._handlers.add(obj)

    def update(self, old: Any, new: Any) -> None:
        self._note(new)
        self._handlers.update(old, new)

    def delete(self, obj: Any) -> None:
        self._note(obj)
        self._handlers.delete(obj)

    def begin(self) -> None:
        self._levels.append(_Level(self._pods.free_rows()))

    def withdraw(self) -> None:
        for kind, _, before, now in self._changed():
            if kind is Pod and now is not None and now is not before:
                self._handlers.delete(now)

    def restore(self) -> None:
        level = self._levels[-1]
        pods: list[Pod] = []
        for kind, _, before, now in reversed(list(self._changed())):
            if kind is Pod:
                if before is not None and before is not now:
                    pods.append(before)
            elif before is None:
                if now is not None:
                    self._handlers.delete(now)
            elif now is None:
                self._handlers.add(self._newer(before))
            elif now is not before:
                self._handlers.update(now, self._newer(before))
        placed = [pod for pod in pods if pod.metadata.uid in level.rows]
        self._pods.free_last([level.rows[pod.metadata.uid] for pod in placed])
        for pod in reversed(placed):
            self._handlers.add(pod)
        self._pods.free_last(level.free_rows)
        for pod in reversed(pods):
            if pod.metadata.uid not in level.rows:
                self._handlers.add(pod)
        self._levels.pop()

    def changed_pods(self) -> dict[str, tuple[Pod | None, Pod | None]]:
        """Before and now, of the pods that have changed since the last `begin`, by `namespace/name`."""
        return {key: (before, now) for kind, key, before, now in self._changed() if kind is Pod and now is not before}

    def _note(self, obj: Any) -> None:
        if not self._levels:
            return
        level, metadata, kind = self._levels[-1], obj.metadata, type(obj)
        key = (kind, metadata.key)
        if key not in level.objects:
            level.objects[key] = before = self._objects.of(kind).get(metadata.name, metadata.namespace)
            if kind is Pod and before is not None and before.spec.node_name:  # not one that is about to be bound
                row = self._pods.row_of(before.metadata.uid)
                if row is not None:
                    level.rows[before.metadata.uid] = row

    def _changed(self) -> Iterator[tuple[type, str, Any, Any]]:
        """Kind and key, what was there at `begin`, and what is there now."""
        for (kind, key), before in self._levels[-1].objects.items():
            yield kind, key, before, self._objects.of(kind).get(key)

    def _newer(self, obj: Any) -> Any:
        """What plugins have assumed about a volume or a claim ends with a version that they have not seen."""
        if isinstance(obj, _KEPT_AS_THEY_WERE):
            return obj
        return replace(obj, metadata=replace(obj.metadata, resource_version=f"restored-{next(self._restored)}"))
