"""Objects and lists in the form that the client asked for: themselves, a Table, or metadata only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.http.negotiation import Form
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.storage import Change, ChangeType, Entry
from kubesched.cluster.apiserver.tables.layout import TableLayout
from kubesched.cluster.apiserver.tables.workloads import SCALE
from kubesched.cluster.apiserver.verbs.reading import Page
from kubesched.objects.base import Json

_encode: Final = msgspec.json.Encoder().encode
_META: Final = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}


class ResponseEncoder:
    """Encodes what one request reads. `now` is for the ages in a table."""

    def __init__(self, resource: Resource, form: Form, include: str, now: float) -> None:
        if include not in ("", "None", "Metadata", "Object"):
            raise status.bad_request(f'unrecognized includeObject value: "{include}"')
        self._resource = resource
        self.form = form
        self._include = include or "Metadata"
        self._now = now
        self._sent_columns = False

    def one(self, entry: Entry) -> bytes:
        match self.form:
            case Form.TABLE:
                return _encode(self._table([entry], {"resourceVersion": str(entry.version)}))
            case Form.METADATA:
                return _encode(_META | {"metadata": entry.decode()["metadata"]})
            case _:
                return full_object(self._resource, entry)

    def scale(self, scale: Json) -> bytes:
        """A Scale, which is made and not stored: itself, or a table."""
        if self.form is not Form.TABLE:
            return _encode(scale)
        row: Json = {"cells": SCALE.row(scale, self._now)}
        if self._include != "None":
            row["object"] = scale if self._include == "Object" else _META | {"metadata": scale["metadata"]}
        return _encode(_table(SCALE, [row], {"resourceVersion": scale["metadata"]["resourceVersion"]}))

    def page(self, page: Page) -> bytes:
        metadata: Json = {"resourceVersion": str(page.version)}
        if page.continue_token:
            metadata["continue"] = page.continue_token
        if page.remaining is not None:
            metadata["remainingItemCount"] = page.remaining
        match self.form:
            case Form.TABLE:
                return _encode(self._table(page.entries, metadata))
            case Form.METADATA:
                items = [_META | {"metadata": entry.decode()["metadata"]} for entry in page.entries]
                kind = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
                return _encode(kind | {"metadata": metadata, "items": items})
            case _:
                return _object_list(self._resource, page.entries, metadata)

    def event(self, kind: ChangeType, change: Change) -> bytes:
        """One line of a watch."""
        return event_line(kind.value, self._event_object(change.seen_as(kind)))

    def initial(self, entry: Entry) -> bytes:
        return event_line(ChangeType.ADDED.value, self._event_object(entry))

    def bookmark(self, version: int, *, initial_end: bool = False) -> bytes:
        metadata: Json = {"resourceVersion": str(version), "creationTimestamp": None}
        if initial_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        match self.form:
            case Form.TABLE:
                value = self._table([], {"resourceVersion": str(version)})
                if initial_end:
                    value["rows"] = [{"cells": [], "object": _META | {"metadata": metadata}}]
            case Form.METADATA:
                value = _META | {"metadata": metadata}
            case _:
                value = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        return event_line("BOOKMARK", _encode(value))

    def _event_object(self, entry: Entry) -> bytes:
        if self.form is not Form.TABLE:
            return self.one(entry)
        table = self._table([entry], {"resourceVersion": str(entry.version)})
        if self._sent_columns:
            table["columnDefinitions"] = None  # kubectl wants them once per watch
        self._sent_columns = True
        return _encode(table)

    def _table(self, entries: Sequence[Entry], metadata: Json) -> Json:
        return _table(self._resource.table, [self._row(entry) for entry in entries], metadata)

    def _row(self, entry: Entry) -> Json:
        value = entry.decode()
        row: Json = {"cells": self._resource.table.row(value, self._now)}
        if self._include == "Metadata":
            row["object"] = _META | {"metadata": value["metadata"]}
        elif self._include == "Object":
            row["object"] = msgspec.Raw(full_object(self._resource, entry))
        return row


def _table(layout: TableLayout, rows: list[Json], metadata: Json) -> Json:
    columns = [
        {"name": item.name, "type": item.type, "format": item.format, "description": "", "priority": item.priority}
        for item in layout.columns
    ]
    kind = {"kind": "Table", "apiVersion": "meta.k8s.io/v1"}
    return kind | {"metadata": metadata, "columnDefinitions": columns, "rows": rows}


def full_object(resource: Resource, entry: Entry) -> bytes:
    """The object as a client of that resource reads it."""
    return resource.head + viewed(resource, entry)[1:]


def viewed(resource: Resource, entry: Entry) -> bytes:
    if resource.conversion is None:
        return entry.raw
    value = entry.decode()
    resource.conversion.from_stored(value)
    return _encode(value)


def event_line(kind: str, encoded: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), encoded)


def _object_list(resource: Resource, entries: Sequence[Entry], metadata: Json) -> bytes:
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    items = b",".join([viewed(resource, entry) for entry in entries])
    return b"".join((head, _encode(metadata), b',"items":[', items, b"]}"))
