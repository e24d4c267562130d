"""Containers and their resources, ports and mounts (`validateContainers`, `ValidateContainerResourceRequirements`)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.problems import (
    Problem,
    duplicate,
    invalid,
    not_found,
    required,
    unsupported,
)
from kubesched.cluster.apiserver.validation.names import dns_label_problems
from kubesched.objects.base import Json
from kubesched.objects.label_syntax import label_key_problems
from kubesched.objects.quantity import Quantity

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
STANDARD_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
HUGE_PAGES: Final = "hugepages-"


def container_problems(spec: Json, path: str, volumes: set[str]) -> list[Problem]:
    """All containers of a pod's spec; names are unique over all of them."""
    problems: list[Problem] = []
    names: set[str] = set()
    if not spec.get("containers"):
        problems.append(required(f"{path}.containers"))
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(key) or ()):
            problems += _container(container, f"{path}.{key}[{index}]", names, volumes)
    host_ports: set[str] = set()
    for index, container in enumerate(spec.get("containers") or ()):
        problems += _host_ports(container, f"{path}.containers[{index}]", host_ports)
    return problems


def resource_problems(resources: Json, path: str, *, of_pod: bool = False) -> list[Problem]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    problems: list[Problem] = []
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            where = f"{path}.{kind}[{name}]"
            problems += _resource_name(name, where, of_pod=of_pod) + _amount(name, amount, where)
    for name, amount in requests.items():
        problems += _against_limit(name, amount, limits, path)
    return problems


def is_extended(name: str) -> bool:
    """A resource that nodes advertise and that cannot be overcommitted."""
    return "/" in name and not name.startswith("kubernetes.io/") and not name.startswith("requests.")


def _container(container: Json, path: str, names: set[str], volumes: set[str]) -> list[Problem]:
    problems: list[Problem] = []
    name = container.get("name", "")
    if not name:
        problems.append(required(f"{path}.name"))
    else:
        problems += [invalid(f"{path}.name", name, text) for text in dns_label_problems(name)]
    if name and name in names:
        problems.append(duplicate(f"{path}.name", name))
    names.add(name)
    if not container.get("image"):
        problems.append(required(f"{path}.image"))
    problems += _ports(container, path)
    problems += _mounts(container, path, volumes)
    policy = container.get("imagePullPolicy", "")
    if policy not in PULL_POLICIES:
        problems.append(unsupported(f"{path}.imagePullPolicy", policy, PULL_POLICIES))
    return problems + resource_problems(container.get("resources") or {}, f"{path}.resources")


def _ports(container: Json, path: str) -> list[Problem]:
    problems: list[Problem] = []
    for index, port in enumerate(container.get("ports") or ()):
        where = f"{path}.ports[{index}]"
        number = port.get("containerPort", 0)
        if number == 0:
            problems.append(required(f"{where}.containerPort"))
        elif not 1 <= number <= 65535:
            problems.append(invalid(f"{where}.containerPort", number, "must be between 1 and 65535, inclusive"))
        host = port.get("hostPort", 0)
        if host and not 1 <= host <= 65535:
            problems.append(invalid(f"{where}.hostPort", host, "must be between 1 and 65535, inclusive"))
        if port.get("protocol") not in PROTOCOLS:
            problems.append(unsupported(f"{where}.protocol", port.get("protocol", ""), PROTOCOLS))
    return problems


def _host_ports(container: Json, path: str, seen: set[str]) -> list[Problem]:
    problems: list[Problem] = []
    for index, port in enumerate(container.get("ports") or ()):
        if port.get("hostPort"):
            key = f"{port.get('protocol')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in seen:
                problems.append(duplicate(f"{path}.ports[{index}].hostPort", key))
            seen.add(key)
    return problems


def _mounts(container: Json, path: str, volumes: set[str]) -> list[Problem]:
    problems: list[Problem] = []
    places: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where = f"{path}.volumeMounts[{index}]"
        name, place = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            problems.append(required(f"{where}.name"))
        elif name not in volumes:
            problems.append(not_found(f"{where}.name", name))
        if not place:
            problems.append(required(f"{where}.mountPath"))
        elif place in places:
            problems.append(invalid(f"{where}.mountPath", place, "must be unique"))
        places.add(place)
    return problems


def _resource_name(name: str, path: str, *, of_pod: bool) -> list[Problem]:
    problems = [invalid(path, name, text) for text in label_key_problems(name)]
    if problems:
        return problems
    if "/" not in name and name not in STANDARD_RESOURCES and not name.startswith(HUGE_PAGES):
        problems.append(invalid(path, name, "must be a standard resource type or fully qualified"))
        problems.append(invalid(path, name, "must be a standard resource for containers"))
    elif of_pod and ("/" in name or name == "ephemeral-storage"):
        problems.append(unsupported(path, name, ("cpu", "hugepages-", "memory")))
    return problems


def _amount(name: str, amount: str, path: str) -> list[Problem]:
    quantity = Quantity.parse(amount)
    if quantity < Quantity.ZERO:
        return [invalid(path, amount, "must be greater than or equal to 0")]
    if is_extended(name) and quantity.milli_value() % 1000:
        return [invalid(path, amount, "must be an integer")]
    return []


def _against_limit(name: str, amount: str, limits: Json, path: str) -> list[Problem]:
    fixed = is_extended(name) or name.startswith(HUGE_PAGES)
    if name not in limits:
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")] if fixed else []
    limit, request = Quantity.parse(limits[name]), Quantity.parse(amount)
    if fixed and request != limit:
        return [invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limits[name]}")]
    if request > limit:
        return [invalid(f"{path}.requests", amount, f"must be less than or equal to {name} limit of {limits[name]}")]
    return []
