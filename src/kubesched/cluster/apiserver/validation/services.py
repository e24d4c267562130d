"""Services (`validateService` upstream); what concerns their addresses stands in `service_addresses`."""

from __future__ import annotations

import re
from typing import Final

from kubesched.cluster.apiserver.problems import Problem, duplicate, forbidden, invalid, required, unsupported
from kubesched.cluster.apiserver.validation.containers import PROTOCOLS
from kubesched.cluster.apiserver.validation.metadata import IMMUTABLE, label_problems
from kubesched.cluster.apiserver.validation.names import dns_label_problems, dns_subdomain_problems
from kubesched.cluster.apiserver.validation.service_addresses import (
    EXTERNAL,
    address_problems,
    address_update_problems,
    external_ip_problems,
    ip_problems,
    is_headless,
)
from kubesched.objects.base import Json
from kubesched.objects.label_syntax import label_key_problems

TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
WITH_NODE_PORTS: Final = ("LoadBalancer", "NodePort")
AFFINITIES: Final = ("ClientIP", "None")
TRAFFIC_POLICIES: Final = ("Cluster", "Local")
DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
LONGEST_AFFINITY: Final = 86400
HIGHEST_PORT: Final = 65535
LONGEST_PORT_NAME: Final = 15
_OUTSIDE: Final = f"must be between 1 and {HIGHEST_PORT}, inclusive"
_BALANCED_ONLY: Final = "may only be used when `type` is 'LoadBalancer'"


def is_open(spec: Json) -> bool:
    """Whether traffic comes from outside the cluster (`ExternallyAccessible`)."""
    kind = spec.get("type")
    return kind in WITH_NODE_PORTS or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: Json) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def service_problems(service: Json) -> list[Problem]:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type"), spec.get("ports") or []
    problems: list[Problem] = []
    if not ports and not is_headless(spec) and kind != EXTERNAL:
        problems.append(required("spec.ports"))
    if kind in WITH_NODE_PORTS and is_headless(spec):
        problems.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    if kind == EXTERNAL:
        problems += _external_name(spec)
    names: set[str] = set()
    for index, port in enumerate(ports):
        problems += _port(port, f"spec.ports[{index}]", names, needs_name=len(ports) > 1)
    problems += label_problems(spec.get("selector") or {}, "spec.selector")
    problems += _affinity(spec)
    problems += address_problems(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        problems += external_ip_problems(address, f"spec.externalIPs[{index}]")
    if kind not in TYPES:
        problems.append(unsupported("spec.type", kind, TYPES))
    return problems + _equal_ports(kind, ports) + _balancing(spec) + _traffic(spec)


def service_update_problems(service: Json, old: Json) -> list[Problem]:
    spec, before = service.get("spec") or {}, old.get("spec") or {}
    problems = address_update_problems(spec, before)
    if spec.get("type") == before.get("type") == "LoadBalancer":
        new_class, old_class = spec.get("loadBalancerClass"), before.get("loadBalancerClass")
        if new_class != old_class:
            problems.append(invalid("spec.loadBalancerClass", new_class, "may not change once set"))
    checked = needs_health_check(spec) and needs_health_check(before)
    if checked and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        problems.append(forbidden("spec.healthCheckNodePort", IMMUTABLE))
    return problems


def service_status_problems(service: Json, old: Json) -> list[Problem]:
    points = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    if points and service["spec"].get("type") != "LoadBalancer":
        return [forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]
    problems: list[Problem] = []
    for index, point in enumerate(points):
        if point.get("ip"):
            problems += ip_problems(point["ip"], f"status.loadBalancer.ingress[{index}].ip")
    return problems


def _external_name(spec: Json) -> list[Problem]:
    problems = [
        forbidden(f"spec.{key}", "may not be set for ExternalName services")
        for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(key)
    ]
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        return [*problems, required("spec.externalName")]
    return problems + [invalid("spec.externalName", name, text) for text in dns_subdomain_problems(name)]


def _port(port: Json, path: str, names: set[str], *, needs_name: bool) -> list[Problem]:
    problems: list[Problem] = []
    name = port.get("name", "")
    if needs_name and not name:
        problems.append(required(f"{path}.name"))
    elif name:
        problems += [invalid(f"{path}.name", name, text) for text in dns_label_problems(name)]
        if name in names:
            problems.append(duplicate(f"{path}.name", name))
        names.add(name)
    number = port.get("port", 0)
    if not 1 <= number <= HIGHEST_PORT:
        problems.append(invalid(f"{path}.port", number, _OUTSIDE))
    if port.get("protocol") not in PROTOCOLS:
        problems.append(unsupported(f"{path}.protocol", port.get("protocol"), PROTOCOLS))
    problems += _target(port.get("targetPort", 0), f"{path}.targetPort")
    if "appProtocol" in port:
        problems += _qualified_name(port["appProtocol"], f"{path}.appProtocol")
    return problems


def _target(target: int | str, path: str) -> list[Problem]:
    """A number, or the name that a container gives to its port (`IsValidPortName`)."""
    if isinstance(target, int):
        return [] if 1 <= target <= HIGHEST_PORT else [invalid(path, target, _OUTSIDE)]
    texts = []
    if len(target) > LONGEST_PORT_NAME:
        texts.append(f"must be no more than {LONGEST_PORT_NAME} characters")
    if not re.fullmatch("[-a-z0-9]+", target):
        texts.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", target):
        texts.append("must contain at least one letter (a-z)")
    if "--" in target:
        texts.append("must not contain consecutive hyphens")
    if target.startswith("-") or target.endswith("-"):
        texts.append("must not begin or end with a hyphen")
    return [invalid(path, target, text) for text in texts]


def _qualified_name(name: str, path: str) -> list[Problem]:
    return [invalid(path, name, text) for text in label_key_problems(name)]


def _affinity(spec: Json) -> list[Problem]:
    affinity = spec.get("sessionAffinity", "")
    if affinity not in AFFINITIES:
        return [unsupported("spec.sessionAffinity", affinity, AFFINITIES)]
    if affinity == "ClientIP":
        seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds", 0)
        if not 0 < seconds <= LONGEST_AFFINITY:
            why = f"must be greater than 0 and less than {LONGEST_AFFINITY}"
            return [invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, why)]
    return []


def _equal_ports(kind: str | None, ports: list[Json]) -> list[Problem]:
    problems: list[Problem] = []
    opened = [(index, port["nodePort"]) for index, port in enumerate(ports) if port.get("nodePort")]
    if kind == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        problems += [forbidden(f"spec.ports[{index}].nodePort", why) for index, _ in opened]
    seen: set[tuple[str | None, int]] = set()
    for index, number in opened:
        key = (ports[index].get("protocol"), number)
        if key in seen:
            problems.append(duplicate(f"spec.ports[{index}].nodePort", number))
        seen.add(key)
    seen.clear()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port", 0))
        if key in seen:
            problems.append(duplicate(f"spec.ports[{index}]", _as_go_has_it(*key)))
        seen.add(key)
    return problems


def _as_go_has_it(protocol: str | None, number: int) -> Json:
    """The key of a port, which upstream's message shows with all fields of its struct."""
    return {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0}


def _balancing(spec: Json) -> list[Problem]:
    balanced = spec.get("type") == "LoadBalancer"
    problems: list[Problem] = []
    if not balanced:
        problems += [
            forbidden(f"spec.{shown_as}", _BALANCED_ONLY)
            for key, shown_as in (
                ("loadBalancerSourceRanges", "LoadBalancerSourceRanges"),  # upstream's path
                ("allocateLoadBalancerNodePorts", "allocateLoadBalancerNodePorts"),
                ("loadBalancerClass", "loadBalancerClass"),
            )
            if spec.get(key) is not None
        ]
    elif spec.get("loadBalancerClass") is not None:
        problems += _qualified_name(spec["loadBalancerClass"], "spec.loadBalancerClass")
    return problems


def _traffic(spec: Json) -> list[Problem]:
    problems: list[Problem] = []
    policy, check = spec.get("externalTrafficPolicy", ""), spec.get("healthCheckNodePort", 0)
    if not is_open(spec):
        if policy:
            why = "may only be set for externally-accessible services"
            problems.append(invalid("spec.externalTrafficPolicy", policy, why))
    elif policy not in TRAFFIC_POLICIES:
        problems.append(unsupported("spec.externalTrafficPolicy", policy, TRAFFIC_POLICIES))
    if not needs_health_check(spec):
        if check:
            why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            problems.append(invalid("spec.healthCheckNodePort", check, why))
    elif not 1 <= check <= HIGHEST_PORT:
        problems.append(invalid("spec.healthCheckNodePort", check, _OUTSIDE))
    inner = spec.get("internalTrafficPolicy")
    if inner is not None and inner not in TRAFFIC_POLICIES:
        problems.append(unsupported("spec.internalTrafficPolicy", inner, TRAFFIC_POLICIES))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in DISTRIBUTIONS:
        problems.append(unsupported("spec.trafficDistribution", distribution, DISTRIBUTIONS))
    return problems
