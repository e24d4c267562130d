"""Objects as they will be: what the informers know, overlaid with changes that are decided but not seen yet."""

from __future__ import annotations

from typing import Generic, TypeVar

from kubesched.objects import PersistentVolume, PersistentVolumeClaim
from kubesched.scheduler.columns import EVERYTHING, Everything, Follower
from kubesched.scheduler.framework import ObjectStore

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class AssumeCache(Generic[T]):
    """An assumed object holds until a newer version of the object is seen, or `restore` drops it.

    `version` changes whenever the overlay does; changes of the store have the store's own version.
    """

    def __init__(self, store: ObjectStore[T]) -> None:
        self.store: ObjectStore[T] = store
        self.version = 0
        self._assumed: dict[str, tuple[T, T]] = {}  # what was seen then, what is assumed
        self._changes = Follower(store.changes)

    def get(self, name: str, namespace: str = "") -> T | None:
        seen: T | None = self.store.get(name, namespace)
        if seen is None or not self._assumed:
            return seen
        entry = self._assumed.get(seen.metadata.key)
        if entry is None or not _is_same_version(seen, entry[0]):
            return seen
        return entry[1]

    def assume(self, obj: T) -> None:
        """Suppose the object to be so. It must have been made from what `get` says."""
        seen = self.store.get(obj.metadata.name, obj.metadata.namespace)
        if seen is not None:
            self._assumed[obj.metadata.key] = seen, obj
            self.version += 1

    def restore(self, obj: T) -> None:
        """Back to what was seen, unless `obj` is newer than what was assumed: then its arrival is a matter of time."""
        entry = self._assumed.get(obj.metadata.key)
        if entry is not None and entry[1].metadata.resource_version == obj.metadata.resource_version:
            del self._assumed[obj.metadata.key]
            self.version += 1

    def refresh(self) -> list[str] | Everything:
        """Drop what is outdated. Returns the keys that changed in the store since the last time."""
        changed = self._changes.changed()
        for key in list(self._assumed) if changed is EVERYTHING else changed:
            entry = self._assumed.get(key)
            if entry is not None:
                seen = self.store.get(key)
                if seen is None or not _is_same_version(seen, entry[0]):
                    del self._assumed[key]
        return changed


def _is_same_version(new: T, old: T) -> bool:
    """Relisted objects are new but of the same version; objects without a version are compared by identity."""
    return new is old or new.metadata.resource_version == old.metadata.resource_version != ""
