"""Network, autoscalers, access: the mistakes that people make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubesched.cluster.apiserver.defaulting.inert import ACCESS_GROUP
from kubesched.cluster.apiserver.problems import Problem, invalid, required, unsupported
from kubesched.objects.base import Json

ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")


def endpoint_slice_problems(endpoints: Json) -> list[Problem]:
    kind = endpoints.get("addressType", "")
    if not kind:
        return [required("addressType")]
    return [] if kind in ADDRESS_TYPES else [unsupported("addressType", kind, ADDRESS_TYPES)]


def ingress_problems(ingress: Json) -> list[Problem]:
    spec = ingress.get("spec") or {}
    if not spec.get("rules") and not spec.get("defaultBackend"):
        return [invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")]
    problems: list[Problem] = []
    for i, rule in enumerate(spec.get("rules") or ()):
        for j, path in enumerate((rule.get("http") or {}).get("paths") or ()):
            problems += _path_problems(path, f"spec.rules[{i}].http.paths[{j}]")
    return problems


def _path_problems(path: Json, where: str) -> list[Problem]:
    kind, text = path.get("pathType"), path.get("path", "")
    if not kind:
        return [required(f"{where}.pathType", "pathType must be specified")]
    if kind not in PATH_TYPES:
        return [unsupported(f"{where}.pathType", kind, PATH_TYPES)]
    if not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        return [invalid(f"{where}.path", text, "must be an absolute path")]
    return []


def autoscaler_problems(autoscaler: Json) -> list[Problem]:
    spec = autoscaler.get("spec") or {}
    fewest, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    problems = []
    if fewest < 1:
        problems.append(invalid("spec.minReplicas", fewest, "must be greater than or equal to 1"))
    if most < 0:
        problems.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if most < fewest:
        problems.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target, where = spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef"
    problems += [required(f"{where}.{key}") for key in ("kind", "name") if not target.get(key)]
    version = target.get("apiVersion", "")
    if "/" not in version and target.get("kind") != "ReplicationController":
        problems.append(invalid(f"{where}.apiVersion", version, "apiVersion must specify API group"))
    if most == 0:
        problems.append(required("spec.maxReplicas"))
    return problems


def role_binding_validator(*, namespaced: bool) -> Callable[[Json], list[Problem]]:
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)

    def role_binding_problems(binding: Json) -> list[Problem]:
        role = binding.get("roleRef") or {}
        problems = []
        if role.get("apiGroup") != ACCESS_GROUP:
            problems.append(unsupported("roleRef.apiGroup", role.get("apiGroup", ""), (ACCESS_GROUP,)))
        if role.get("kind") not in kinds:
            problems.append(unsupported("roleRef.kind", role.get("kind", ""), kinds))
        if not role.get("name"):
            problems.append(required("roleRef.name"))
        for index, subject in enumerate(binding.get("subjects") or ()):
            problems += _subject_problems(subject, f"subjects[{index}]", namespaced=namespaced)
        return problems

    return role_binding_problems


def _subject_problems(subject: Json, where: str, *, namespaced: bool) -> list[Problem]:
    problems = [] if subject.get("name") else [required(f"{where}.name")]
    kind, group = subject.get("kind", ""), subject.get("apiGroup", "")
    if kind == "ServiceAccount":
        if group:
            problems.append(unsupported(f"{where}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            problems.append(required(f"{where}.namespace"))
    elif kind not in ("User", "Group"):
        problems.append(unsupported(f"{where}.kind", kind, ("ServiceAccount", "User", "Group")))
    elif group != ACCESS_GROUP:
        problems.append(unsupported(f"{where}.apiGroup", group, (ACCESS_GROUP,)))
    return problems


def role_is_fixed(binding: Json, old: Json) -> list[Problem]:
    role, before = binding.get("roleRef") or {}, old.get("roleRef") or {}
    if role == before:
        return []
    shown = {"APIGroup": role.get("apiGroup", ""), "Kind": role.get("kind", ""), "Name": role.get("name", "")}
    return [invalid("roleRef", shown, "field is immutable")]
