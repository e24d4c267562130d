"""`metadata.managedFields`: the managers of an object and what each of them owns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kubesched.cluster.apiserver.ownership.field_sets import FieldSet, from_fields_v1, to_fields_v1
from kubesched.objects.base import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """One writer in one role: the same program that applies and updates is two managers."""

    name: str
    operation: str  # Apply or Update
    api_version: str
    subresource: str = ""
    time: str = ""
    fields: FieldSet = frozenset()

    @property
    def identity(self) -> tuple[str, str, str]:
        return (self.name, self.operation, self.subresource)

    def owning(self, fields: FieldSet, now: str) -> Manager:
        """The same manager with these fields; its time says when they last changed."""
        return self if fields == self.fields else replace(self, fields=fields, time=now)


def read_managers(metadata: Json) -> list[Manager]:
    return [
        Manager(
            name=item.get("manager", ""),
            operation=item.get("operation", ""),
            api_version=item.get("apiVersion", ""),
            subresource=item.get("subresource", ""),
            time=item.get("time", ""),
            fields=from_fields_v1(item.get("fieldsV1") or {}),
        )
        for item in metadata.get("managedFields") or ()
    ]


def chosen_managers(given: Any, live: list[Json]) -> list[Json]:
    """The managed fields of an object that a writer may have set: an empty list forgets them all (`decodeLiveOrNew`).

    One that says nothing, or something that cannot be read, leaves them as they are.
    """
    if given in ([], [{}]):
        return []
    try:
        readable = any(manager.fields for manager in read_managers({"managedFields": given}))
    except (AttributeError, TypeError, RecursionError):
        return live
    return given if readable else live


def _order(manager: Manager) -> tuple[str, ...]:
    """`sortEncodedManagedFields`: appliers first, the older ones before the younger."""
    return (manager.operation, manager.time, manager.name, manager.api_version, manager.subresource)


def write_managers(metadata: Json, managers: list[Manager]) -> None:
    """Those that own nothing are left out. The order is upstream's, and says nothing of who wrote last."""
    items = [
        {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
            "time": manager.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(manager.fields),
        }
        | ({"subresource": manager.subresource} if manager.subresource else {})
        for manager in sorted(managers, key=_order)
        if manager.fields
    ]
    if items:
        metadata["managedFields"] = items
    else:
        metadata.pop("managedFields", None)
