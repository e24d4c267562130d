"""How much of a quota one object of a kind uses, and which scopes it is in (evaluators of `pkg/quota/v1` upstream)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesched.cluster.apiserver.preparation import qos_class
from kubesched.cluster.apiserver.resource import QuotaEvaluator, Usage
from kubesched.cluster.apiserver.tables.volumes import CLASS_ANNOTATION
from kubesched.objects import Pod, convert
from kubesched.objects.base import Json
from kubesched.objects.pod_resources import pod_limits, pod_requests
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import is_dra_extended_resource, is_huge_page_resource

ONE: Final = Quantity.of(1)
COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
ASKED_OF_CONTAINERS: Final = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
)
"""If a quota limits these, every container has to say how much it wants (`validationSet` upstream)."""


def _missing_amounts(pod: Json, hard: Mapping[str, object]) -> str:
    """What a pod's containers leave open although a quota limits it, in upstream's words; empty if nothing."""
    spec = pod["spec"]
    wanted = ASKED_OF_CONTAINERS & hard.keys()
    if not wanted or spec.get("resources"):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        for name in wanted - _compute(resources.get("requests") or {}, resources.get("limits") or {}).keys():
            missing.setdefault(name, set()).add(container.get("name", ""))
    listed = "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
    return f"must specify {listed}" if listed else ""


def _pod_matches(scope: Json, pod: Json) -> bool:
    spec = pod["spec"]
    match scope["scopeName"]:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return qos_class(spec) == "BestEffort"
        case "NotBestEffort":
            return qos_class(spec) != "BestEffort"
        case "PriorityClass":
            return _matches_class(scope, spec.get("priorityClassName") or "")
        case "CrossNamespacePodAffinity":
            return _looks_across_namespaces(spec.get("affinity") or {})
    return False


def _matches_class(scope: Json, name: str) -> bool:
    values = scope.get("values") or ()
    match scope.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def _looks_across_namespaces(affinity: Json) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        all_terms = (*required, *(term["podAffinityTerm"] for term in preferred))
        if any(term.get("namespaces") or "namespaceSelector" in term for term in all_terms):
            return True
    return False


def _pod_usage(value: Json) -> Usage:
    if (value.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    pod = convert(value, Pod)
    return {"pods": ONE, **_compute(pod_requests(pod, use_status=True), pod_limits(pod, use_status=True))}


def _compute(requests: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """`podComputeUsageHelper` upstream."""
    usage = {}
    for name, amount in requests.items():
        if name in COMPUTE or is_huge_page_resource(name):
            usage[name] = usage[f"requests.{name}"] = amount
        elif is_dra_extended_resource(name):
            usage[f"requests.{name}"] = amount
    return usage | {f"limits.{name}": limits[name] for name in COMPUTE if name in limits}


def _claim_usage(value: Json) -> Usage:
    spec, annotations = value["spec"], value["metadata"].get("annotations") or {}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    usage = {"persistentvolumeclaims": ONE}
    if asked is not None:
        usage["requests.storage"] = Quantity.parse(asked)
    if storage_class := annotations.get(CLASS_ANNOTATION) or spec.get("storageClassName"):
        usage |= {f"{storage_class}.storageclass.storage.k8s.io/{name}": amount for name, amount in usage.items()}
    return usage


def _service_usage(value: Json) -> Usage:
    spec = value["spec"]
    kind, ports = spec.get("type"), len(spec.get("ports") or ())
    balanced = kind == "LoadBalancer"
    opened = ports if kind == "NodePort" or (balanced and spec.get("allocateLoadBalancerNodePorts", True)) else 0
    return {
        "services": ONE,
        "services.nodeports": Quantity.of(opened),
        "services.loadbalancers": Quantity.of(int(balanced)),
    }


def counted_as(name: str) -> QuotaEvaluator:
    """Of a kind that quotas also count by a plain name, besides `count/…`."""
    return QuotaEvaluator(usage=lambda _: {name: ONE})


PODS: Final = QuotaEvaluator(usage=_pod_usage, missing=_missing_amounts, is_in_scope=_pod_matches)
CLAIMS: Final = QuotaEvaluator(usage=_claim_usage, grows=True)
SERVICES: Final = QuotaEvaluator(usage=_service_usage, grows=True)
