"""Resource quotas: what a namespace uses of them, and whether one more object, or a larger one, fits.

What is used is summed up from the stored objects whenever it is asked for, so it is never out of date. Each version of
an object is looked at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.resource import COUNTED_ONLY, Resource, Usage
from kubesched.cluster.apiserver.storage import Entry, Store
from kubesched.objects.base import Json
from kubesched.objects.quantity import Quantity

ONE: Final = Quantity.of(1)


class Quotas:
    def __init__(self, store: Store, resources: Sequence[Resource]) -> None:
        self._store = store
        self._resources = resources
        self._resource = next(item for item in resources if item.qualified == "resourcequotas")
        self._looked_at: dict[tuple[str, str, str], dict[str, tuple[int, Usage]]] = {}
        """By quota and kind: what each object uses, with the version that was looked at."""

    def validate(self, resource: Resource, value: Json, old: Json | None = None) -> None:
        """Refuse an object for which a quota of its namespace has no room: a new one, or one that grows from `old`.

        As upstream, a quota holds from the moment when its status repeats its limits.
        """
        if not resource.namespaced or (old is not None and not resource.rules.quota.grows):
            return
        metadata = value["metadata"]
        for entry in self._entries(self._resource, metadata.get("namespace", "")):
            quota = entry.decode()
            if not _is_about(quota, resource, value):
                continue
            hard = _amounts((quota.get("status") or {}).get("hard"))
            if missing := resource.rules.quota.missing(value, hard):
                raise status.forbidden(resource, metadata.get("name", ""), f"failed quota: {entry.name}: {missing}")
            added = {name: amount for name, amount in _usage(resource, value).items() if name in hard}
            if old is not None and _is_about(quota, resource, old):
                added = _growth(added, _usage(resource, old))
            used = self._sum(quota, resource, added) if added else {}
            exceeded = sorted(name for name, amount in added.items() if used[name] + amount > hard[name])
            if exceeded:
                message = (
                    f"exceeded quota: {entry.name}, requested: {_listed(added, exceeded)}, "
                    f"used: {_listed(used, exceeded)}, limited: {_listed(hard, exceeded)}"
                )
                raise status.forbidden(resource, metadata.get("name", ""), message)

    def used(self, quota: Json) -> dict[str, str]:
        """What the status of a quota says: an amount for each of its limits."""
        total: Usage = dict.fromkeys(_amounts((quota.get("spec") or {}).get("hard")), Quantity.ZERO)
        for resource in self._resources:
            if resource.namespaced and _may_use(resource, total):
                for name, amount in self._sum(quota, resource, total).items():
                    total[name] += amount
        return {name: str(amount) for name, amount in total.items()}

    def _sum(self, quota: Json, resource: Resource, names: Mapping[str, Quantity]) -> Usage:
        """What all objects of one kind use of the quota, for each of the names."""
        total = dict.fromkeys(names, Quantity.ZERO)
        namespace = quota["metadata"]["namespace"]
        key = (namespace, quota["metadata"]["name"], resource.qualified)
        known, seen = self._looked_at.get(key, {}), {}
        for entry in self._entries(resource, namespace):
            version, usage = known.get(entry.name, (0, {}))
            if version != entry.version:
                value = entry.decode()
                usage = _usage(resource, value) if _is_about(quota, resource, value) else {}
            seen[entry.name] = (entry.version, usage)
            for name in total.keys() & usage.keys():
                total[name] += usage[name]
        self._looked_at[key] = seen
        return total

    def _entries(self, resource: Resource, namespace: str) -> list[Entry]:
        return self._store.bucket(resource.bucket_name, resource.read_fields).in_order(namespace)


def _usage(resource: Resource, value: Json) -> Usage:
    """By the names that quotas use; every object counts at least as one of its kind."""
    return {f"count/{resource.qualified}": ONE} | resource.rules.quota.usage(value)


def _may_use(resource: Resource, names: Mapping[str, Quantity]) -> bool:
    return resource.rules.quota is not COUNTED_ONLY or f"count/{resource.qualified}" in names


def _is_about(quota: Json, resource: Resource, value: Json) -> bool:
    """A quota with scopes is about those objects only that are in all of them."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return all(resource.rules.quota.is_in_scope(scope, value) for scope in scopes)


def _amounts(limits: Mapping[str, Any] | None) -> Usage:
    return {name: Quantity.parse(amount) for name, amount in (limits or {}).items()}


def _growth(usage: Usage, before: Usage) -> Usage:
    grown = {name: amount - before.get(name, Quantity.ZERO) for name, amount in usage.items()}
    return {name: amount for name, amount in grown.items() if amount > Quantity.ZERO}


def _listed(amounts: Mapping[str, Quantity], names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)
