"""Resource quotas: names, amounts and scopes (`ValidateResourceQuotaSpec` upstream)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.problems import Problem, invalid, required
from kubesched.objects.base import Json
from kubesched.objects.label_syntax import label_key_problems
from kubesched.objects.quantity import Quantity
from kubesched.objects.resource_names import is_huge_page_resource

POD_AMOUNTS: Final = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
)
STORAGE: Final = frozenset({"requests.storage", "persistentvolumeclaims"})
STANDARD: Final = (
    POD_AMOUNTS
    | STORAGE
    | {
        *("ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage"),
        *("pods", "services", "services.nodeports", "services.loadbalancers"),
        *("replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
    }
)
SCOPES: Final = {
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": STORAGE,
    **dict.fromkeys(
        ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"),
        POD_AMOUNTS | {"pods"},
    ),
}
"""Each scope with the standard resources that it can be a scope of."""
WITH_VALUES: Final = ("PriorityClass", "VolumeAttributesClass")
CONFLICTING: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


def quota_problems(quota: Json) -> list[Problem]:
    spec = quota.get("spec") or {}
    problems: list[Problem] = []
    for name, amount in (spec.get("hard") or {}).items():
        path = f"spec.hard[{name}]"
        problems += _name_problems(name, path)
        if Quantity.parse(amount) < Quantity.ZERO:
            problems.append(invalid(path, amount, "must be greater than or equal to 0"))
    return problems + _scope_problems(spec) + _selector_problems(spec)


def quota_update_problems(quota: Json, old: Json) -> list[Problem]:
    new, before = ((value.get("spec") or {}).get("scopes") or [] for value in (quota, old))
    return [invalid("spec.scopes", new, "field is immutable")] if set(new) != set(before) else []


def _name_problems(name: str, path: str) -> list[Problem]:
    if problems := label_key_problems(name):
        return [invalid(path, name, text) for text in problems]
    if "/" in name or _is_standard(name):
        return []
    return [
        invalid(path, name, "must be a standard resource type or fully qualified"),
        invalid(path, name, "must be a standard resource for quota"),
    ]


def _is_standard(name: str) -> bool:
    return name in STANDARD or is_huge_page_resource(name.removeprefix("requests."))


def _scope_problems(spec: Json) -> list[Problem]:
    path, scopes = "spec.scopes", spec.get("scopes") or []
    problems = []
    for scope in scopes:
        if scope not in SCOPES:
            problems.append(invalid(path, scopes, "unsupported scope"))
        problems += [invalid(path, scopes, "unsupported scope applied to resource") for _ in _out_of_scope(scope, spec)]
    return problems + [invalid(path, scopes, "conflicting scopes") for pair in CONFLICTING if pair <= set(scopes)]


def _selector_problems(spec: Json) -> list[Problem]:
    selector, path = spec.get("scopeSelector") or {}, "spec.scopeSelector.matchExpressions"
    problems = []
    expressions = selector.get("matchExpressions") or []
    for expression in expressions:
        scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
        if scope not in SCOPES:
            problems.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        elif scope not in WITH_VALUES and operator != "Exists":
            detail = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                "ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            problems.append(invalid(f"{path}.operator", operator, detail))
        unsuitable = invalid(path, selector, "unsupported scope applied to resource")
        problems += [unsuitable for _ in _out_of_scope(scope, spec)]
        problems += _operator_problems(operator, expression.get("values") or [], path)
    named = {expression.get("scopeName") for expression in expressions}
    return problems + [invalid(path, spec.get("scopes"), "conflicting scopes") for pair in CONFLICTING if pair <= named]


def _operator_problems(operator: str, values: list[str], path: str) -> list[Problem]:
    match operator:
        case "In" | "NotIn" if not values:
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            return [required(f"{path}.values", text)]
        case "Exists" | "DoesNotExist" if values:
            text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            return [invalid(f"{path}.values", values, text)]
        case "In" | "NotIn" | "Exists" | "DoesNotExist":
            return []
    return [invalid(f"{path}.operator", operator, "not a valid selector operator")]


def _out_of_scope(scope: str, spec: Json) -> list[str]:
    """The limits that such a scope makes no sense for."""
    allowed = SCOPES.get(scope, STANDARD)
    return [name for name in sorted(spec.get("hard") or {}) if _is_standard(name) and name not in allowed]
