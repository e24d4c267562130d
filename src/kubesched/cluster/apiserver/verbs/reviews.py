"""Reviews: who somebody is and what they may do. Who has the token may do everything."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import conform
from kubesched.objects.base import Json

ADMIN: Final = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
_RULES: Final = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_STATUS: Final[dict[str, Json]] = {
    "SelfSubjectReview": {"userInfo": ADMIN},
    "TokenReview": {"authenticated": True, "user": ADMIN},
    "LocalSubjectAccessReview": {"allowed": True},
    "SelfSubjectAccessReview": {"allowed": True},
    "SubjectAccessReview": {"allowed": True},
    "SelfSubjectRulesReview": _RULES,
}


def answer(resource: Resource, value: Json, now: str) -> Json | None:
    """The answered review, or None when the resource is none."""
    if not resource.group.startswith(("authentication.", "authorization.")):
        return None
    if wrong := conform(resource.struct_name, value).wrong:
        raise status.bad_request(f'{resource.kind} in version "v1" cannot be handled as a {resource.kind}: {wrong}')
    head: Json = {"kind": resource.kind, "apiVersion": resource.api_version}
    spec = {"spec": value["spec"]} if "spec" in value else {}
    created = now if resource.kind == "SelfSubjectReview" else None
    return head | {"metadata": {"creationTimestamp": created}} | spec | {"status": _STATUS[resource.kind]}
