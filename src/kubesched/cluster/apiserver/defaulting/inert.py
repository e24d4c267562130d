"""Defaults of what nothing acts on: network, autoscalers, access."""

from __future__ import annotations

from typing import Final

from kubesched.objects.base import Json

ACCESS_GROUP: Final = "rbac.authorization.k8s.io"


def default_endpoints(endpoints: Json) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_endpoint_slice(endpoints: Json) -> None:
    for port in endpoints.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_ingress_class(ingress_class: Json) -> None:
    parameters = (ingress_class.get("spec") or {}).get("parameters")
    if parameters:
        parameters.setdefault("scope", "Cluster")


def default_network_policy(policy: Json) -> None:
    spec = policy.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def default_autoscaler(autoscaler: Json) -> None:
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def default_role_binding(binding: Json) -> None:
    role = binding.setdefault("roleRef", {})
    role["apiGroup"] = role.get("apiGroup") or ACCESS_GROUP
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = subject.get("apiGroup") or ACCESS_GROUP
