"""What a path names (`RequestInfo` upstream)."""

from __future__ import annotations

from typing import NamedTuple

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.catalog import Catalog
from kubesched.cluster.apiserver.resource import Resource
from kubesched.errors import KubeschedError


class PageNotFoundError(KubeschedError):
    """No such group: there is nobody to say it in the API's own words."""


class Target(NamedTuple):
    """A resource's collection, one object of it, or a part of one."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


def find_target(path: str, catalog: Catalog) -> Target:
    """Refuses (404) what is not served."""
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    else:
        group, version, rest = parts[1], parts[2], parts[3:]
    namespace = ""
    # `namespaces/x` is the namespace itself, and so are its own subresources.
    if len(rest) > 2 and rest[0] == "namespaces" and not (len(rest) == 3 and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    if not catalog.serves(group):
        raise PageNotFoundError
    if not 1 <= len(rest) <= 3 or not all(rest):
        raise status.path_not_found()
    resource = catalog.find(group, version, rest[0])
    if resource is None or (namespace and not resource.namespaced):
        raise status.path_not_found()
    name = rest[1] if len(rest) > 1 else ""
    if name and resource.namespaced and not namespace:
        raise status.path_not_found()
    return Target(resource, namespace, name, rest[2] if len(rest) > 2 else "")
