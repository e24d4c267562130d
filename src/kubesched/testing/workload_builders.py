"""Namespaces, controllers, services, disruption budgets, priorities and pod groups, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubesched.objects import (
    Namespace,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    convert,
)
from kubesched.testing.builders import Json, plain


def make_namespace(name: str = "default", *, labels: Mapping[str, str] | None = None) -> Namespace:
    """A namespace with the label of its name that every API server sets."""
    all_labels = {"kubernetes.io/metadata.name": name, **(labels or {})}
    return convert({"metadata": {"name": name, "labels": all_labels}, "status": {"phase": "Active"}}, Namespace)


def make_service(name: str = "svc", *, namespace: str = "default", selector: Mapping[str, str]) -> Service:
    return convert({"metadata": _named(name, namespace), "spec": {"selector": dict(selector)}}, Service)


def make_replication_controller(
    name: str = "rc", *, namespace: str = "default", selector: Mapping[str, str]
) -> ReplicationController:
    manifest = {"metadata": _named(name, namespace), "spec": {"selector": dict(selector)}}
    return convert(manifest, ReplicationController)


def make_replica_set(name: str = "rs", *, namespace: str = "default", selector: Json) -> ReplicaSet:
    """`selector` is a label selector (`{"matchLabels": …}`)."""
    return convert({"metadata": _named(name, namespace), "spec": {"selector": plain(selector)}}, ReplicaSet)


def make_stateful_set(name: str = "sts", *, namespace: str = "default", selector: Json) -> StatefulSet:
    """`selector` is a label selector (`{"matchLabels": …}`)."""
    return convert({"metadata": _named(name, namespace), "spec": {"selector": plain(selector)}}, StatefulSet)


def make_pdb(
    name: str = "pdb",
    *,
    namespace: str = "default",
    selector: Json | None = None,
    disruptions_allowed: int = 0,
    disrupted_pods: Iterable[str] = (),
) -> PodDisruptionBudget:
    """A budget over the pods that `selector` (a label selector) selects."""
    budget = {
        "metadata": _named(name, namespace),
        "spec": {"selector": plain(selector)},
        "status": {
            "disruptionsAllowed": disruptions_allowed,
            "disruptedPods": dict.fromkeys(disrupted_pods, "2024-01-01T00:00:00Z"),
        },
    }
    return convert(budget, PodDisruptionBudget)


def make_priority_class(name: str = "high", *, value: int, preemption_policy: str = "") -> PriorityClass:
    manifest = {"metadata": {"name": name}, "value": value, "preemptionPolicy": preemption_policy}
    return convert(manifest, PriorityClass)


def make_pod_group(
    name: str = "group", *, namespace: str = "default", min_count: int | None = None, spec: Json | None = None
) -> PodGroup:
    """A pod group: a gang if `min_count` is given, else one whose pods are scheduled one by one."""
    policy = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    manifest = {"metadata": _named(name, namespace), "spec": {"schedulingPolicy": policy, **(plain(spec) or {})}}
    return convert(manifest, PodGroup)


def _named(name: str, namespace: str) -> dict[str, str]:
    return {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}"}
