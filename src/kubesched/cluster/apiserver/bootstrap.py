"""What every cluster has from the start: namespaces, system priority classes, the first roles, its own service."""

from __future__ import annotations

import copy
from typing import Final

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.users import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from kubesched.cluster.apiserver.validation.cluster import SYSTEM_CLASSES
from kubesched.objects.base import Json

NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
DESCRIPTIONS: Final = {
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
}
RBAC: Final = "rbac.authorization.k8s.io"
_HEALTH: Final = ["/livez", "/readyz", "/healthz", "/version", "/version/"]
_DISCOVERY: Final = [*_HEALTH, "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"]
_SELF_REVIEWS: Final = {
    "authorization.k8s.io": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    "authentication.k8s.io": ["selfsubjectreviews"],
}
ROLES: Final[dict[str, tuple[list[Json], list[str]]]] = {
    "cluster-admin": (
        [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ],
        [MASTERS],
    ),
    "system:discovery": ([{"verbs": ["get"], "nonResourceURLs": _DISCOVERY}], [AUTHENTICATED]),
    "system:basic-user": (
        [
            {"verbs": ["create"], "apiGroups": [group], "resources": resources}
            for group, resources in _SELF_REVIEWS.items()
        ],
        [AUTHENTICATED],
    ),
    "system:public-info-viewer": (
        [{"verbs": ["get"], "nonResourceURLs": _HEALTH}],
        [AUTHENTICATED, UNAUTHENTICATED],
    ),
}
"""The roles that every cluster has (`bootstrappolicy` upstream), as far as they are about people, and their holders."""
KUBERNETES_SERVICE: Final[Json] = {
    "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
    "spec": {
        "clusterIP": "10.96.0.1",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
    },
}


def bootstrap(api: Api) -> None:
    """Create what is missing. Idempotent: a server with a data directory starts with its own objects."""
    for name in NAMESPACES:
        ensure(api, "namespaces", {"metadata": {"name": name}})
    for name, value in SYSTEM_CLASSES.items():
        priority_class = {"metadata": {"name": name}, "value": value, "description": DESCRIPTIONS[name]}
        ensure(api, "priorityclasses.scheduling.k8s.io", priority_class)
    for name, (rules, groups) in ROLES.items():
        labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
        role: Json = {"metadata": {"name": name, "labels": labels}, "rules": rules}
        ensure(api, f"clusterroles.{RBAC}", role)
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
        subjects = [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups]
        binding: Json = {"metadata": {"name": name, "labels": labels}, "roleRef": reference, "subjects": subjects}
        ensure(api, f"clusterrolebindings.{RBAC}", binding)
    ensure(api, "services", KUBERNETES_SERVICE, "default")


def ensure(api: Api, qualified: str, value: Json, namespace: str = "") -> None:
    """Create an object unless there is one of its name."""
    resource = api.catalog.named(qualified)
    if api.reader.bucket(resource).get(namespace, value["metadata"]["name"]) is None:
        api.create(resource, copy.deepcopy(value), namespace)
