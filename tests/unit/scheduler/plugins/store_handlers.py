"""What stands between an API in memory and a plugin's stores."""

from __future__ import annotations

from typing import Any

from kubesched.scheduler.framework import ObjectStores


class StoreHandlers:
    """Puts what was written into the stores, like the event handlers."""

    def __init__(self, objects: ObjectStores) -> None:
        self._objects = objects

    def add(self, obj: Any) -> None:
        self._objects.of(type(obj)).set(obj)

    def update(self, old: Any, new: Any) -> None:
        self._objects.of(type(new)).set(new)

    def delete(self, obj: Any) -> None:
        self._objects.of(type(obj)).remove(obj)
