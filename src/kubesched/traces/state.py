"""State: the objects of a cluster at a moment of a trace, which is the sum of the changes until then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, cast

from kubesched.objects import KIND_OF, Pod
from kubesched.traces.entries import Change, ChangeType, Entry

T = TypeVar("T")


class State:
    """The objects by kind and `namespace/name`. It takes as much memory as the cluster has objects.

    A pod that has ended is not part of it, whether or not it was deleted.
    Objects stand in the order in which they first appeared, nodes too: that is the order in which a scheduler has them.
    """

    def __init__(self, objects: Iterable[Any] = ()) -> None:
        self.time = 0.0
        self._objects: dict[type, dict[str, Any]] = {}
        for obj in objects:
            self.put(obj)

    def apply(self, entry: Entry) -> Any:
        """Take up a change; decisions and gaps change nothing but the time. Returns what was there before, or None."""
        self.time = entry.time
        if not isinstance(entry, Change):
            return None
        obj = entry.object
        if entry.type is ChangeType.DELETED or (type(obj) is Pod and obj.is_terminal):
            return self._of(type(obj)).pop(obj.metadata.key, None)
        return self.put(obj)

    def put(self, obj: Any) -> Any:
        """Add or replace an object. Returns the one that was there before, or None."""
        objects = self._of(type(obj))
        key = obj.metadata.key
        old = objects.get(key)
        objects[key] = obj
        return old

    def get(self, kind: type[T], key: str) -> T | None:
        """The object with this `namespace/name`."""
        return cast("T | None", self._of(kind).get(key))

    def of(self, kind: type[T]) -> Iterator[T]:
        """All objects of a kind."""
        return iter(cast("dict[str, T]", self._of(kind)).values())

    def count(self, kind: type) -> int:
        return len(self._of(kind))

    def __iter__(self) -> Iterator[Any]:
        """All objects, kind by kind in the order of `kubesched.objects.KINDS`: nodes after pods, as the kinds stand."""
        for kind in KIND_OF:
            yield from self._objects.get(kind, {}).values()

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    def _of(self, kind: type) -> dict[str, Any]:
        objects = self._objects.get(kind)
        if objects is None:
            objects = self._objects[kind] = {}
        return objects
