"""A list while it comes in, in pages or as the first events of a watch."""

from __future__ import annotations

from typing import Generic, TypeVar

from kubesched.client.incoming import Unreadable
from kubesched.client.rest import ApiObject
from kubesched.objects import KIND_OF
from kubesched.telemetry.logging import log

T = TypeVar("T", bound=ApiObject)


class InitialList(Generic[T]):
    """Objects by `namespace/name`, and the names of those that exist in a form that does not decode."""

    def __init__(self, struct: type[T]) -> None:
        self._struct = struct
        self.objects: dict[str, T] = {}
        self.unreadable: set[str] = set()
        self.is_complete = False

    def add(self, value: T | Unreadable) -> T | None:
        """The object; None if it does not decode."""
        if not isinstance(value, Unreadable):
            self.objects[value.metadata.key] = value
            return value
        log_unreadable(value, self._struct)
        if value.metadata.key:
            self.unreadable.add(value.metadata.key)
        return None

    def discard(self, key: str) -> None:
        self.objects.pop(key, None)
        self.unreadable.discard(key)


def log_unreadable(value: Unreadable, struct: type[ApiObject]) -> None:
    log.error("Skipping an object that does not decode", value.error, type=KIND_OF[struct].plural)
