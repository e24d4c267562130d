"""Defaults of namespaces, nodes, services, secrets, priority classes, limit ranges and device claims."""

from __future__ import annotations

import base64

from kubesched.cluster.apiserver.validation.services import is_open
from kubesched.objects.base import Json


def default_namespace(namespace: Json) -> None:
    name = namespace["metadata"].get("name")
    if name:
        namespace["metadata"].setdefault("labels", {}).setdefault("kubernetes.io/metadata.name", name)


def default_node(node: Json) -> None:
    status = node.get("status") or {}
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))


def default_service(service: Json) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("sessionAffinity", "None")
    spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort") and "port" in port:
            port["targetPort"] = port["port"]
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {}).setdefault("timeoutSeconds", 10800)
    if is_open(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["type"] == "ExternalName":
        spec.pop("internalTrafficPolicy", None)
    else:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    default_service_status(service)


def default_service_status(service: Json) -> None:
    for point in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
        if point.get("ip"):
            point.setdefault("ipMode", "VIP")


def default_secret(secret: Json) -> None:
    secret.setdefault("type", "Opaque")
    if texts := secret.pop("stringData", None):
        data = secret.setdefault("data", {})
        data.update({key: base64.b64encode(text.encode()).decode() for key, text in texts.items()})


def default_priority_class(priority_class: Json) -> None:
    priority_class.setdefault("value", 0)
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_limit_range(limit_range: Json) -> None:
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") != "Container":
            continue
        for name, quantity in (item.get("max") or {}).items():
            item.setdefault("default", {}).setdefault(name, quantity)
        for name, quantity in (item.get("default") or {}).items():
            item.setdefault("defaultRequest", {}).setdefault(name, quantity)
        for name, quantity in (item.get("min") or {}).items():
            item.setdefault("defaultRequest", {}).setdefault(name, quantity)


def default_pod_group(group: Json) -> None:
    group.setdefault("spec", {}).setdefault("disruptionMode", {"single": {}})


def default_resource_claim(claim: Json) -> None:
    default_device_claim((claim.get("spec") or {}).get("devices") or {})


def default_resource_claim_template(template: Json) -> None:
    spec = (template.get("spec") or {}).get("spec") or {}
    default_device_claim(spec.get("devices") or {})


def default_device_claim(devices: Json) -> None:
    for request in devices.get("requests") or ():
        choices = [request["exactly"]] if "exactly" in request else []
        for choice in choices + list(request.get("firstAvailable") or ()):
            if choice.setdefault("allocationMode", "ExactCount") == "ExactCount":
                choice.setdefault("count", 1)
            for toleration in choice.get("tolerations") or ():
                toleration.setdefault("operator", "Equal")
