"""The RBAC that a configuration needs: kube-scheduler's own roles, the lease, and what its plugins read and write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kubesched.apps.run.informers import selections_for_plugins
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.objects import KIND_OF
from kubesched.scheduler.build import Assembled

Manifest = dict[str, Any]

GROUP: Final = "rbac.authorization.k8s.io"
API_VERSION: Final = f"{GROUP}/v1"
READ: Final = ("get", "list", "watch")
# Clusters have these roles, each in the form that its version needs.
BUILT_IN_ROLES: Final = ("system:kube-scheduler", "system:volume-scheduler")


class Rule(NamedTuple):
    """What is allowed on one resource, in one namespace or (empty) in all of them."""

    namespace: str
    group: str
    resource: str
    verbs: tuple[str, ...]


def rbac_manifests(
    config: KubeSchedulerConfiguration, assembled: Assembled, namespace: str, account: str
) -> list[Manifest]:
    """For a service account; `assembled` is a scheduler that was built from the configuration."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    manifests: list[Manifest] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}}
    ]
    manifests += (
        _binding(f"{account}-{role.partition(':')[2]}", "", "ClusterRole", role, subject) for role in BUILT_IN_ROLES
    )
    reader = "extension-apiserver-authentication-reader"
    manifests.append(_binding(f"{account}-authentication-reader", "kube-system", "Role", reader, subject))
    election = config.leader_election
    if election.leader_elect:
        rule = {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [election.resource_name],
            "verbs": ["get", "list", "watch", "update"],
        }
        manifests += _role(f"{account}-leader-election", election.resource_namespace, [rule], subject)
    rules = sorted(set(_rules(assembled)))
    for place in sorted({rule.namespace for rule in rules}):
        here = [
            {"apiGroups": [rule.group], "resources": [rule.resource], "verbs": list(rule.verbs)}
            for rule in rules
            if rule.namespace == place
        ]
        manifests += _role(f"{account}-plugins", place, here, subject)
    if urls := sorted({url for url in _fetched_paths(assembled) if not url.startswith(("/api/", "/apis/"))}):
        rule = {"nonResourceURLs": urls, "verbs": ["get"]}
        manifests += _role(f"{account}-plugins-fetch", "", [rule], subject)
    return manifests


def _rules(assembled: Assembled) -> Iterator[Rule]:
    for struct, selection in selections_for_plugins(FeatureGates(), assembled.objects.watched).items():
        kind = KIND_OF[struct]
        yield Rule(selection.namespace, kind.group, kind.plural, READ)
    for profile in assembled.profiles.values():
        for plugin in profile.plugins.values():
            for permission in plugin.permissions:
                kind = KIND_OF[permission.kind]
                resource = f"{kind.plural}/{permission.subresource}" if permission.subresource else kind.plural
                yield Rule("", kind.group, resource, (permission.verb,))
    for url in _fetched_paths(assembled):
        if url.startswith(("/api/", "/apis/")):
            yield _rule_of_path(url)


def _fetched_paths(assembled: Assembled) -> Iterator[str]:
    return (fetched.url.partition("?")[0] for fetched in assembled.fetches if fetched.url.startswith("/"))


def _rule_of_path(path: str) -> Rule:
    """`/api/VERSION/...` or `/apis/GROUP/VERSION/...`, then `[namespaces/NAME/]PLURAL[/NAME]`."""
    root, *parts = path.strip("/").split("/")
    group = parts.pop(0) if root == "apis" and parts else ""
    parts = parts[1:]
    namespace = ""
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    verb = "get" if len(parts) > 1 else "list"
    return Rule(namespace, group, parts[0] if parts else "*", (verb,))


def _role(name: str, namespace: str, rules: list[Manifest], subject: Manifest) -> list[Manifest]:
    """A role and its binding; without a namespace, for the cluster."""
    kind = "Role" if namespace else "ClusterRole"
    role = {"apiVersion": API_VERSION, "kind": kind, "metadata": _metadata(name, namespace), "rules": rules}
    return [role, _binding(name, namespace, kind, name, subject)]


def _binding(name: str, namespace: str, kind: str, role: str, subject: Manifest) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": _metadata(name, namespace),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [dict(subject)],  # a copy: YAML would write a reference
    }


def _metadata(name: str, namespace: str) -> Manifest:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}
