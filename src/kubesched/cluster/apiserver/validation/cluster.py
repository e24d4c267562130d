"""Nodes, configuration, classes of priority and runtime, leases."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from typing import Final

from kubesched.cluster.apiserver.problems import Problem, duplicate, forbidden, invalid, required, unsupported
from kubesched.cluster.apiserver.validation.names import config_key_problems, dns_label_problems
from kubesched.cluster.apiserver.validation.placement import EFFECTS
from kubesched.objects.base import Json
from kubesched.objects.label_syntax import label_key_problems, label_value_problems

DEVICE_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_PREFIX: Final = "system-"
SYSTEM_CLASSES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_WHEN_IMMUTABLE: Final = "field is immutable when `immutable` is set"


def node_problems(node: Json) -> list[Problem]:
    problems = _pod_ranges(node.get("spec") or {})
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate((node.get("spec") or {}).get("taints") or ()):
        path = f"metadata.taints[{index}]"  # upstream's path
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        problems += [invalid(f"{path}.key", key, text) for text in label_key_problems(key)]
        problems += [invalid(f"{path}.value", value, text) for text in label_value_problems(value)]
        if effect not in EFFECTS:
            problems.append(unsupported(f"{path}.effect", effect, EFFECTS) if effect else required(f"{path}.effect"))
        if (key, effect) in seen:
            stored = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            why = "taints must be unique by key and effect pair"
            problems.append(replace(duplicate(path, stored), detail=why))
        seen.add((key, effect))
    return problems


def _pod_ranges(spec: Json) -> list[Problem]:
    """The addresses of a node's pods: at most one range of each family."""
    ranges = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    problems, families = [], []
    for index, text in enumerate(ranges):
        try:
            families.append(ip_network(text, strict=False).version)
        except ValueError:
            why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            problems.append(invalid(f"spec.podCIDRs[{index}]", text, why))
    if not problems and len(families) > len(set(families)):
        problems.append(invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"))
    return problems


def device_taint_rule_problems(rule: Json) -> list[Problem]:
    taint, path = (rule.get("spec") or {}).get("taint") or {}, "spec.taint"
    key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
    problems = [invalid(f"{path}.key", key, text) for text in label_key_problems(key)]
    problems += [invalid(f"{path}.value", value, text) for text in label_value_problems(value)]
    if effect not in DEVICE_EFFECTS:
        problems.append(unsupported(f"{path}.effect", effect, DEVICE_EFFECTS) if effect else required(f"{path}.effect"))
    return problems


def config_map_problems(config_map: Json) -> list[Problem]:
    problems = _keys(config_map.get("data") or {}, "data")
    binary = config_map.get("binaryData") or {}
    problems += _keys(binary, "binaryData")
    both = [key for key in config_map.get("data") or {} if key in binary]
    return problems + [invalid(f"data[{key}]", key, "duplicate of key present in binaryData") for key in both]


def config_map_update_problems(config_map: Json, old: Json) -> list[Problem]:
    return _immutable(config_map, old, ("data", "binaryData"))


def secret_problems(secret: Json) -> list[Problem]:
    return _keys(secret.get("data") or {}, "data")


def secret_update_problems(secret: Json, old: Json) -> list[Problem]:
    problems = _immutable(secret, old, ("data",))
    if secret.get("type") != old.get("type"):
        problems.append(invalid("type", secret.get("type"), "field is immutable"))
    return problems


def priority_class_problems(priority_class: Json) -> list[Problem]:
    name, value = priority_class["metadata"].get("name", ""), priority_class.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        if SYSTEM_CLASSES.get(name) == value:
            return []
        why = f"{name} is not a known system priority class"
        if name in SYSTEM_CLASSES:
            why = f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
        message = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {why}"
        return [forbidden("metadata.name", message)]
    if value > HIGHEST_USER_PRIORITY:
        message = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        return [forbidden("value", message)]
    return []


def priority_class_update_problems(priority_class: Json, old: Json) -> list[Problem]:
    problems: list[Problem] = []
    if priority_class.get("value") != old.get("value"):
        problems.append(forbidden("value", "may not be changed in an update."))
    policy = priority_class.get("preemptionPolicy")
    if policy != old.get("preemptionPolicy"):
        problems.append(invalid("preemptionPolicy", policy, "field is immutable"))
    return problems


def runtime_class_problems(runtime_class: Json) -> list[Problem]:
    handler = runtime_class.get("handler", "")
    if not handler:
        return [required("handler")]
    return [invalid("handler", handler, text) for text in dns_label_problems(handler)]


def runtime_class_update_problems(runtime_class: Json, old: Json) -> list[Problem]:
    handler = runtime_class.get("handler")
    return [] if handler == old.get("handler") else [invalid("handler", None, "field is immutable")]


def lease_problems(lease: Json) -> list[Problem]:
    spec = lease.get("spec") or {}
    problems: list[Problem] = []
    if "leaseDurationSeconds" in spec and spec["leaseDurationSeconds"] <= 0:
        problems.append(invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0"))
    if spec.get("leaseTransitions", 0) < 0:
        problems.append(
            invalid("spec.leaseTransitions", spec["leaseTransitions"], "must be greater than or equal to 0")
        )
    return problems


def _keys(data: Json, path: str) -> list[Problem]:
    return [invalid(f"{path}[{key}]", key, text) for key in data for text in config_key_problems(key)]


def _immutable(value: Json, old: Json, parts: tuple[str, ...]) -> list[Problem]:
    if not old.get("immutable"):
        return []
    problems = [forbidden(key, _WHEN_IMMUTABLE) for key in parts if value.get(key) != old.get(key)]
    if not value.get("immutable"):
        problems.insert(0, forbidden("immutable", _WHEN_IMMUTABLE))
    return problems
