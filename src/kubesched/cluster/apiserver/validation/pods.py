"""Pods and pod templates (`ValidatePodSpec`, `ValidatePodUpdate` upstream)."""

from __future__ import annotations

import copy
import json
from typing import Final

from kubesched.cluster.apiserver.problems import Problem, duplicate, forbidden, invalid, required, unsupported
from kubesched.cluster.apiserver.validation.containers import container_problems, resource_problems
from kubesched.cluster.apiserver.validation.metadata import annotation_problems, label_problems
from kubesched.cluster.apiserver.validation.names import dns_label_problems, dns_subdomain_problems
from kubesched.cluster.apiserver.validation.placement import (
    REQUIRED,
    affinity_problems,
    gate_problems,
    spread_problems,
    toleration_problems,
)
from kubesched.objects.base import Json

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES: Final = ("Never", "PreemptLowerPriority")
_FIXED: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod_problems(pod: Json) -> list[Problem]:
    spec = pod.get("spec") or {}
    problems = spec_problems(spec, "spec")
    if spec.get("schedulingGates") and spec.get("nodeName"):
        problems.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return problems


def template_problems(template: Json, path: str) -> list[Problem]:
    metadata = template.get("metadata") or {}
    problems = label_problems(metadata.get("labels") or {}, f"{path}.labels")
    problems += annotation_problems(metadata.get("annotations") or {}, f"{path}.annotations")
    return problems + spec_problems(template.get("spec") or {}, f"{path}.spec")


def spec_problems(spec: Json, path: str) -> list[Problem]:
    problems, volumes = _volumes(spec.get("volumes") or [], f"{path}.volumes")
    problems += container_problems(spec, path, volumes)
    for key, allowed in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", DNS_POLICIES)):
        if spec.get(key) not in allowed:
            problems.append(unsupported(f"{path}.{key}", spec.get(key, ""), allowed))
    problems += label_problems(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    if resources := spec.get("resources"):
        problems += resource_problems(resources, f"{path}.resources", of_pod=True)
    problems += _names(spec, path)
    deadline = spec.get("activeDeadlineSeconds", 1)
    if not 1 <= deadline <= 2**31 - 1:
        message = "must be between 1 and 2147483647, inclusive"
        problems.append(invalid(f"{path}.activeDeadlineSeconds", deadline, message))
    if affinity := spec.get("affinity"):
        problems += affinity_problems(affinity, f"{path}.affinity")
    problems += toleration_problems(spec.get("tolerations") or [], f"{path}.tolerations")
    problems += spread_problems(spec.get("topologySpreadConstraints") or [], f"{path}.topologySpreadConstraints")
    problems += gate_problems(spec.get("schedulingGates") or [], f"{path}.schedulingGates")
    policy = spec.get("preemptionPolicy")
    if policy is not None and policy not in PREEMPTION_POLICIES:
        problems.append(unsupported(f"{path}.preemptionPolicy", policy, PREEMPTION_POLICIES))
    return problems


def pod_update_problems(pod: Json, old: Json) -> list[Problem]:
    """A pod's spec is fixed, but for a handful of fields."""
    new_spec, old_spec = pod.get("spec") or {}, old.get("spec") or {}
    problems: list[Problem] = []
    for key in ("containers", "initContainers"):
        if len(new_spec.get(key) or ()) != len(old_spec.get(key) or ()):
            return [forbidden(f"spec.{key}", "pod updates may not add or remove containers")]
    problems += _gate_changes(new_spec, old_spec) + _toleration_changes(new_spec, old_spec)
    problems += _deadline_changes(new_spec, old_spec)
    if problems:
        return problems
    gated = bool(old_spec.get("schedulingGates"))
    return [] if _fixed_parts(new_spec, old_spec, gated=gated) == old_spec else [forbidden("spec", _FIXED)]


def _names(spec: Json, path: str) -> list[Problem]:
    problems: list[Problem] = []
    for key, rule in (
        ("nodeName", dns_subdomain_problems),
        ("priorityClassName", dns_subdomain_problems),
        ("serviceAccountName", dns_subdomain_problems),
        ("hostname", dns_label_problems),
        ("subdomain", dns_label_problems),
    ):
        if value := spec.get(key):
            problems += [invalid(f"{path}.{key}", value, text) for text in rule(value)]
    return problems


def _volumes(volumes: list[Json], path: str) -> tuple[list[Problem], set[str]]:
    problems: list[Problem] = []
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        name = volume.get("name", "")
        if not name:
            problems.append(required(f"{path}[{index}].name"))
        else:
            problems += [invalid(f"{path}[{index}].name", name, text) for text in dns_label_problems(name)]
        if name in names:
            problems.append(duplicate(f"{path}[{index}].name", name))
        names.add(name)
        sources = [key for key in volume if key != "name"]
        problems += [
            forbidden(f"{path}[{index}].{key}", "may not specify more than 1 volume type") for key in sources[1:]
        ]
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and not claim.get("claimName"):
            problems.append(required(f"{path}[{index}].persistentVolumeClaim.claimName"))
    return problems, names


def _gate_changes(new: Json, old: Json) -> list[Problem]:
    before = {gate.get("name", "") for gate in old.get("schedulingGates") or ()}
    added = [name for gate in new.get("schedulingGates") or () if (name := gate.get("name", "")) not in before]
    message = "only deletion is allowed, but found new scheduling gate '{}'"
    return [forbidden("spec.schedulingGates", message.format(name)) for name in added]


def _toleration_changes(new: Json, old: Json) -> list[Problem]:
    kept = {_without_seconds(toleration) for toleration in new.get("tolerations") or ()}
    lost = any(_without_seconds(item) not in kept for item in old.get("tolerations") or ())
    message = "existing toleration can not be modified except its tolerationSeconds"
    return [forbidden("spec.tolerations", message)] if lost else []


def _without_seconds(toleration: Json) -> frozenset[tuple[str, str]]:
    return frozenset(item for item in toleration.items() if item[0] != "tolerationSeconds")


def _deadline_changes(new: Json, old: Json) -> list[Problem]:
    before, now = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    if before is not None and (now is None or now > before):
        message = f"must be less than or equal to previous value {before}"
        return [invalid("spec.activeDeadlineSeconds", now, message)]
    return []


def _fixed_parts(new: Json, old: Json, *, gated: bool) -> Json:
    """The new spec with everything that may change taken from the old one."""
    spec = copy.deepcopy(new)
    for key in ("containers", "initContainers"):
        for container, before in zip(spec.get(key) or (), old.get(key) or (), strict=True):
            container["image"] = before.get("image")
    free = ["tolerations", "schedulingGates", "activeDeadlineSeconds"]
    if old.get("terminationGracePeriodSeconds", 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        free.append("terminationGracePeriodSeconds")
    if gated and _is_narrower(new, old):
        free += ["nodeSelector", "affinity"]
    for key in free:
        if key in old:
            spec[key] = old[key]
        else:
            spec.pop(key, None)
    return spec


def _is_narrower(new: Json, old: Json) -> bool:
    """Whether a gated pod's new node selector and node affinity only add to the old ones (KEP-3838)."""
    selector, before = new.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        return False
    affinity, affinity_before = dict(new.get("affinity") or {}), dict(old.get("affinity") or {})
    node, node_before = affinity.pop("nodeAffinity", None) or {}, affinity_before.pop("nodeAffinity", None) or {}
    if affinity != affinity_before:
        return False
    return REQUIRED not in node_before or _adds_to_terms(node.get(REQUIRED) or {}, node_before[REQUIRED])


def _adds_to_terms(selector: Json, before: Json) -> bool:
    terms, old_terms = selector.get("nodeSelectorTerms") or [], before.get("nodeSelectorTerms") or []
    return len(terms) == len(old_terms) and all(
        _texts(term, key) >= _texts(old_term, key)
        for term, old_term in zip(terms, old_terms, strict=True)
        for key in ("matchExpressions", "matchFields")
    )


def _texts(term: Json, key: str) -> set[str]:
    """The requirements of a term as text, which can be looked up."""
    return {json.dumps(item, sort_keys=True) for item in term.get(key) or ()}
