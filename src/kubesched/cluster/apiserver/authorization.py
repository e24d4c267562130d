"""What somebody may do: the served roles and their bindings, evaluated (`RBACAuthorizer` upstream).

The embedded API server has one user of its own, the administrator, who may do everything. Roles matter where a review
asks about somebody else, and where the administrator acts as somebody else (`kubectl --as`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.catalog import Catalog
from kubesched.cluster.apiserver.selectors import object_selector
from kubesched.cluster.apiserver.storage import Bucket, Store
from kubesched.cluster.apiserver.users import User
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

GROUP: Final = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """What is asked for: a path, or a verb on a resource."""

    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Decision(NamedTuple):
    allowed: bool
    reason: str = ""


class _Granted(NamedTuple):
    rule: Json
    source: str


class Authorizer:
    def __init__(self, store: Store, catalog: Catalog) -> None:
        def stored(plural: str) -> Bucket:
            resource = catalog.named(f"{plural}.{GROUP}")
            return store.bucket(resource.bucket_name, resource.read_fields)

        self._cluster_roles, self._roles = stored("clusterroles"), stored("roles")
        self._cluster_bindings, self._bindings = stored("clusterrolebindings"), stored("rolebindings")

    def decide(self, user: User, wanted: Attributes) -> Decision:
        if user.is_master:
            return Decision(True)
        problems: list[str] = []
        for rule, source in self._granted(user, wanted.namespace, problems):
            if _allows(rule, wanted):
                return Decision(True, f"RBAC: allowed by {source}")
        return Decision(False, f"RBAC: {_listed(problems)}" if problems else "")

    def rules_of(self, user: User, namespace: str) -> tuple[list[Json], str]:
        """All rules that apply to a user in a namespace, and what is wrong with others."""
        problems: list[str] = []
        return [rule for rule, _ in self._granted(user, namespace, problems)], _listed(problems)

    def _granted(self, user: User, namespace: str, problems: list[str]) -> Iterator[_Granted]:
        yield from self._of_bindings(user, self._cluster_bindings, "", problems)
        if namespace:
            yield from self._of_bindings(user, self._bindings, namespace, problems)

    def _of_bindings(self, user: User, bindings: Bucket, namespace: str, problems: list[str]) -> Iterator[_Granted]:
        for entry in bindings.in_order(namespace):
            binding = entry.decode()
            subject = next((item for item in binding.get("subjects") or () if _is(user, item, namespace)), None)
            if subject is None:
                continue
            reference = binding.get("roleRef") or {}
            kind, name = reference.get("kind", ""), reference.get("name", "")
            of_namespace = kind == "Role"
            role = self._roles.get(namespace, name) if of_namespace else self._cluster_roles.get("", name)
            if role is None:
                problems.append(f'{kind.lower()}.{GROUP} "{name}" not found')
                continue
            what = "RoleBinding" if namespace else "ClusterRoleBinding"
            shown = f"{entry.name}/{namespace}" if namespace else entry.name
            source = f'{what} "{shown}" of {kind} "{name}" to {_described(subject, namespace)}'
            for rule in self._rules(role.decode()):
                yield _Granted(rule, source)

    def _rules(self, role: Json) -> Iterator[Json]:
        """Of a role; those that it aggregates are looked up, where a controller would have copied them."""
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        if not selectors:
            yield from role.get("rules") or ()
            return
        parsed = [object_selector(item) for item in selectors]
        for entry in self._cluster_roles.in_order():
            other = entry.decode()
            if "aggregationRule" not in other and any(item.matches(entry.labels) for item in parsed):
                yield from other.get("rules") or ()


def refusal(user: User, wanted: Attributes, decision: Decision) -> RequestRefusedError:
    """403, in the words of kube-apiserver."""
    who = f'User "{user.name}" cannot {wanted.verb}'
    if wanted.path:
        what = f'{who} path "{wanted.path}"'
        return RequestRefusedError(403, "Forbidden", f"forbidden: {_because(what, decision)}", details={})
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    what = f'{who} resource "{resource}" in API group "{wanted.group}" {where}'
    return status.forbidden(_Asked(wanted.group, wanted.resource), wanted.name, _because(what, decision))


def _because(what: str, decision: Decision) -> str:
    return f"{what}: {decision.reason}" if decision.reason else what


class _Asked:
    def __init__(self, group: str, plural: str) -> None:
        self.group, self.kind, self.plural = group, plural, plural


def _is(user: User, subject: Json, namespace: str) -> bool:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return bool(name == user.name)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            return user.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
    return False


def _described(subject: Json, namespace: str) -> str:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{kind} "{name}"'


def _allows(rule: Json, wanted: Attributes) -> bool:
    """`RuleAllows` upstream."""
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and wanted.verb not in verbs:
        return False
    if wanted.path:
        paths = rule.get("nonResourceURLs") or ()
        return any(
            item in ("*", wanted.path) or (item.endswith("*") and wanted.path.startswith(item.rstrip("*")))
            for item in paths
        )
    groups, names = rule.get("apiGroups") or (), rule.get("resourceNames") or ()
    if "*" not in groups and wanted.group not in groups:
        return False
    if names and wanted.name not in names:
        return False
    resources = set(rule.get("resources") or ())
    if not wanted.subresource:
        return bool(resources & {"*", wanted.resource})
    return bool(resources & {"*", f"{wanted.resource}/{wanted.subresource}", f"*/{wanted.subresource}"})


def _listed(problems: list[str]) -> str:
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]" if distinct else ""
