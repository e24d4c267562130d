"""What we may do in a cluster, asked of the API server itself (SelfSubjectAccessReview): nothing is tried out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from kubesched.client.rest import RestClient
from kubesched.objects import KIND_OF, encode

PATH: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Permission(NamedTuple):
    """A verb on a resource (`pods/binding`), in one namespace or (empty) in all of them."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        name = f" {self.name}" if self.name else ""
        return f"{self.verb} {resource}{name}" + (f" in {self.namespace}" if self.namespace else "")


def to_read(kinds: Iterable[type]) -> list[Permission]:
    """What every command needs that looks at a cluster."""
    return [Permission(verb, KIND_OF[kind].plural, KIND_OF[kind].group) for kind in kinds for verb in ("list", "watch")]


def to_schedule(lease: str, namespace: str) -> list[Permission]:
    """What `kubesched run` needs besides."""
    election = ("coordination.k8s.io", namespace)
    return [
        Permission("create", "pods/binding"),
        Permission("patch", "pods/status"),
        Permission("delete", "pods"),
        Permission("create", "events", "events.k8s.io"),
        Permission("patch", "events", "events.k8s.io"),
        Permission("update", "persistentvolumeclaims"),
        Permission("update", "persistentvolumes"),
        Permission("create", "leases", *election),
        Permission("get", "leases", *election, lease),
        Permission("update", "leases", *election, lease),
    ]


class _Status(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _Status = _Status()


async def missing(rest: RestClient, permissions: Iterable[Permission]) -> list[Permission]:
    """Those that we do not have. Raises ClientError where the server does not answer."""
    asked = list(permissions)
    answers = await asyncio.gather(*(_is_allowed(rest, permission) for permission in asked))
    return [permission for permission, allowed in zip(asked, answers, strict=True) if not allowed]


async def _is_allowed(rest: RestClient, permission: Permission) -> bool:
    resource, _, subresource = permission.resource.partition("/")
    attributes: dict[str, Any] = {
        "verb": permission.verb,
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": permission.namespace,
        "name": permission.name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
    answer = await rest.call("POST", PATH, body=encode(review))
    return msgspec.json.decode(answer, type=_Review).status.allowed
