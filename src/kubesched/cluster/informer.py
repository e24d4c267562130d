"""The objects of one resource as somebody in the API server's process sees them: always up to date, never polled.

In memory, a write is seen here before the call that made it returns. With a journal it is seen when it is durable;
`await api.store.settled()` waits for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.storage import ChangeType, Entry
from kubesched.errors import InvalidObjectError
from kubesched.objects import decode
from kubesched.objects.meta import ObjectMeta
from kubesched.telemetry.logging import log


class HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T")
Key = tuple[str, str]
Listener = Callable[[T | None, T | None], None]


class Index(Generic[T]):
    """Objects by one property of theirs (its owner, its node); those with an empty one are left out."""

    def __init__(self, property_of: Callable[[T], str]) -> None:
        self._property_of = property_of
        self._objects: dict[str, dict[Key, T]] = {}

    def __getitem__(self, value: str) -> list[T]:
        return list(self._objects.get(value, {}).values())

    def count(self, value: str) -> int:
        return len(self._objects.get(value, {}))

    def update(self, key: Key, old: T | None, new: T | None) -> None:
        before = self._property_of(old) if old is not None else ""
        after = self._property_of(new) if new is not None else ""
        if before and before != after:
            del self._objects[before][key]
            if not self._objects[before]:
                del self._objects[before]
        if after and new is not None:
            self._objects.setdefault(after, {})[key] = new


class Informer(Generic[T]):
    """All objects of a resource, as slim structs by namespace and name. Starts with what there is."""

    def __init__(self, api: Api, resource: str, struct: type[T]) -> None:
        self.resource = api.catalog.named(resource)
        self._struct = struct
        self._objects: dict[Key, T] = {}
        self._indexes: list[Index[T]] = []
        self._listeners: list[Listener[T]] = []
        self._watch = api.watch(self.resource)
        for entry in self._watch.initial:
            self._put(entry)
        self._stop = self._watch.listen(self._read)

    def close(self) -> None:
        self._stop()

    def __iter__(self) -> Iterator[T]:
        """A snapshot, in the order of creation: the objects may change meanwhile."""
        return iter(list(self._objects.values()))

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get((namespace, name))

    def in_namespace(self, namespace: str) -> Iterable[T]:
        return [value for key, value in self._objects.items() if key[0] == namespace]

    def index(self, property_of: Callable[[T], str]) -> Index[T]:
        index = Index(property_of)
        for key, value in self._objects.items():
            index.update(key, None, value)
        self._indexes.append(index)
        return index

    def listen(self, listener: Listener[T]) -> None:
        """Call `listener(old, new)` for what there is and for every change; it must be quick and must not raise."""
        for value in self:
            listener(None, value)
        self._listeners.append(listener)

    def _read(self) -> None:
        for seen in self._watch.read():
            if seen.type is ChangeType.DELETED:
                self._remove(seen.change.entry.key)
            else:
                self._put(seen.change.entry)

    def _put(self, entry: Entry) -> None:
        try:
            value = decode(entry.raw, self._struct)
        except InvalidObjectError as error:
            log.error("Object is left to itself", error, kind=self.resource.kind, name="/".join(entry.key))
            return
        old = self._objects.get(entry.key)
        self._objects[entry.key] = value
        self._told(entry.key, old, value)

    def _remove(self, key: Key) -> None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._told(key, old, None)

    def _told(self, key: Key, old: T | None, new: T | None) -> None:
        for index in self._indexes:
            index.update(key, old, new)
        for listener in self._listeners:
            listener(old, new)
