"""Finding a resource by what a path or an object names."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched.cluster.apiserver.resource import Resource


class Catalog:
    """The served resources, by what a path or an object names."""

    def __init__(self, resources: tuple[Resource, ...]) -> None:
        self.resources = resources
        self._by_plural = {(item.group, item.version, item.plural): item for item in resources}
        self._group_names = {item.group for item in resources}
        self._by_kind = {(item.api_version, item.kind): item for item in resources}

    def __iter__(self) -> Iterator[Resource]:
        return iter(self.resources)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_plural.get((group, version, plural))

    def serves(self, group: str) -> bool:
        return group in self._group_names

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        return self._by_kind.get((api_version, kind))

    def named(self, qualified: str) -> Resource:
        """The resource of that name, e.g. `pods` or `deployments.apps`; in its first version."""
        return next(item for item in self.resources if item.qualified == qualified)

    def groups(self) -> dict[str, dict[str, list[Resource]]]:
        """Resources by group and version, in the order of the catalog."""
        found: dict[str, dict[str, list[Resource]]] = {}
        for item in self.resources:
            found.setdefault(item.group, {}).setdefault(item.version, []).append(item)
        return found
