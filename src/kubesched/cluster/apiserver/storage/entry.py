"""One stored object and one change of it.

Objects are kept as encoded JSON only. Decoding gives every reader its own copy, which is cheaper than copying Python
objects; and lists and watches join bytes that were encoded once, when the object was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from kubesched.objects.base import Json

_decode = msgspec.json.Decoder(Json).decode


class Entry:
    """A stored object. `raw` is its JSON without `kind` and `apiVersion`, which belong to the view it is read by."""

    __slots__ = ("fields", "labels", "name", "namespace", "raw", "version")

    def __init__(
        self,
        *,
        namespace: str,
        name: str,
        version: int,
        raw: bytes,
        labels: Mapping[str, str],
        fields: Mapping[str, str],
    ) -> None:
        self.namespace = namespace
        self.name = name
        self.version = version
        self.raw = raw
        self.labels = labels
        self.fields = fields  # what field selectors of this resource can ask for

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace, self.name)

    def decode(self) -> Json:
        """A fresh copy of the object; the caller may change it."""
        return _decode(self.raw)


class ChangeType(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change:
    """One write, as watchers see it. `entry` of a deletion is the object's last state at the deletion's version."""

    __slots__ = ("_departed", "entry", "previous", "type")

    def __init__(self, change_type: ChangeType, entry: Entry, previous: Entry | None) -> None:
        self.type = change_type
        self.entry = entry
        self.previous = previous
        self._departed: Entry | None = None

    @property
    def version(self) -> int:
        return self.entry.version

    @property
    def departed(self) -> Entry:
        """For watchers that no longer match: the last state that did, at this change's version."""
        if self._departed is None:
            assert self.previous is not None
            value = self.previous.decode()
            value["metadata"]["resourceVersion"] = str(self.version)
            self._departed = Entry(
                namespace=self.previous.namespace,
                name=self.previous.name,
                version=self.version,
                raw=msgspec.json.encode(value),
                labels=self.previous.labels,
                fields=self.previous.fields,
            )
        return self._departed

    def seen_as(self, change_type: ChangeType) -> Entry:
        """The object that a watcher gets which sees this change as that type."""
        left = change_type is ChangeType.DELETED and self.type is not ChangeType.DELETED
        return self.departed if left else self.entry
