"""Reviews: who somebody is and what they may do. Answered from the token and the served roles, never stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.authorization import Attributes, Authorizer
from kubesched.cluster.apiserver.problems import Problem, invalid
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import conform
from kubesched.cluster.apiserver.users import Tokens, User
from kubesched.objects.base import Json

_BOTH: Final = "cannot be specified in combination with resourceAttributes"
_NEITHER: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


class Reviewer:
    def __init__(self, tokens: Tokens, authorizer: Authorizer) -> None:
        self._tokens = tokens
        self._authorizer = authorizer
        self._answers: dict[str, Callable[[Resource, Json, User, str], Json]] = {
            "SelfSubjectReview": lambda resource, spec, user, namespace: {"userInfo": _user_info(user)},
            "TokenReview": self._token,
            "SelfSubjectAccessReview": self._own_access,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._access,
            "SelfSubjectRulesReview": self._rules,
        }

    def answer(self, resource: Resource, value: Json, *, user: User, namespace: str, now: str) -> Json:
        """The review with its status. `user` is who asks."""
        if wrong := conform(resource.struct_name, value).wrong:
            raise status.bad_request(f'{resource.kind} in version "v1" cannot be handled as a {resource.kind}: {wrong}')
        answered = self._answers[resource.kind](resource, value.get("spec") or {}, user, namespace)
        head: Json = {"kind": resource.kind, "apiVersion": resource.api_version}
        spec = {"spec": value["spec"]} if "spec" in value else {}
        created = now if resource.kind == "SelfSubjectReview" else None
        return head | {"metadata": {"creationTimestamp": created}} | spec | {"status": answered}

    def _token(self, resource: Resource, spec: Json, user: User, namespace: str) -> Json:
        """Audiences are left out: the token is good for this API server, and for nothing else."""
        if not spec.get("token"):
            raise status.bad_request("token is required for TokenReview in authentication")
        holder = self._tokens.holder(spec["token"])
        if holder is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user_info(holder)}

    def _own_access(self, resource: Resource, spec: Json, user: User, namespace: str) -> Json:
        _refuse(resource, _attribute_problems(spec))
        return self._decided(spec, user)

    def _access(self, resource: Resource, spec: Json, user: User, namespace: str) -> Json:
        problems = _attribute_problems(spec)
        if not spec.get("user") and not spec.get("groups"):
            problems.append(invalid("spec.user", "", "at least one of user or group must be specified"))
        given = (spec.get("resourceAttributes") or {}).get("namespace", "")
        if resource.namespaced and given != namespace:
            problems.append(invalid("spec.resourceAttributes.namespace", given, "must match metadata.namespace"))
        _refuse(resource, problems)
        return self._decided(spec, User(spec.get("user", ""), tuple(spec.get("groups") or ())))

    def _rules(self, resource: Resource, spec: Json, user: User, namespace: str) -> Json:
        if not spec.get("namespace"):
            raise status.bad_request("no namespace on request")
        rules, problems = self._authorizer.rules_of(user, spec["namespace"])
        answer: Json = {
            "resourceRules": [_without_paths(rule) for rule in rules if rule.get("resources")],
            "nonResourceRules": [_with_paths_only(rule) for rule in rules if rule.get("nonResourceURLs")],
            "incomplete": False,
        }
        return answer | ({"evaluationError": problems} if problems else {})

    def _decided(self, spec: Json, user: User) -> Json:
        decision = self._authorizer.decide(user, _attributes(spec))
        return {"allowed": decision.allowed} | ({"reason": decision.reason} if decision.reason else {})


def _without_paths(rule: Json) -> Json:
    return {key: item for key, item in rule.items() if key != "nonResourceURLs"}


def _with_paths_only(rule: Json) -> Json:
    return {"verbs": rule.get("verbs") or [], "nonResourceURLs": rule["nonResourceURLs"]}


def _user_info(user: User) -> Json:
    return {"username": user.name, "groups": list(user.groups)}


def _attributes(spec: Json) -> Attributes:
    if (asked := spec.get("nonResourceAttributes")) is not None:
        return Attributes(verb=asked.get("verb", ""), path=asked.get("path", ""))
    asked = spec["resourceAttributes"]
    keys = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(**{key: asked.get(key, "") for key in keys})


def _attribute_problems(spec: Json) -> list[Problem]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        return [invalid("spec.nonResourceAttributes", path, _BOTH)]
    if resource is None and path is None:
        return [invalid("spec.resourceAttributes", None, _NEITHER)]
    return []


def _refuse(resource: Resource, problems: list[Problem]) -> None:
    if problems:
        raise status.invalid(resource, "", problems)
