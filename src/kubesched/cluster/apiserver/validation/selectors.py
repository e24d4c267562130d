"""Label selectors and node selectors (`ValidateLabelSelector`, `ValidateNodeSelector` upstream)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.problems import Problem, forbidden, invalid, required
from kubesched.cluster.apiserver.validation.metadata import label_problems
from kubesched.cluster.apiserver.validation.names import dns_subdomain_problems
from kubesched.objects.base import Json
from kubesched.objects.label_syntax import label_key_problems, label_value_problems

_SOME: Final = "must be specified when `operator` is 'In' or 'NotIn'"
_NONE: Final = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_SINGLE: Final = "must be specified single value when `operator` is 'Lt' or 'Gt'"


def label_selector_problems(selector: Json | None, path: str) -> list[Problem]:
    if not selector:
        return []
    problems = label_problems(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        problems += _requirement_problems(expression, f"{path}.matchExpressions[{index}]", numeric=False)
    return problems


def node_selector_problems(selector: Json, path: str) -> list[Problem]:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [
        problem
        for index, term in enumerate(terms)
        for problem in node_term_problems(term, f"{path}.nodeSelectorTerms[{index}]")
    ]


def node_term_problems(term: Json, path: str) -> list[Problem]:
    problems = []
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        problems += _requirement_problems(expression, f"{path}.matchExpressions[{index}]", numeric=True)
    for index, expression in enumerate(term.get("matchFields") or ()):
        problems += _field_problems(expression, f"{path}.matchFields[{index}]")
    return problems


def _requirement_problems(expression: Json, path: str, *, numeric: bool) -> list[Problem]:
    """A node selector also compares numbers; only a label selector checks its values' syntax."""
    operator, values = expression.get("operator", ""), expression.get("values") or ()
    problems: list[Problem] = []
    match operator:
        case "In" | "NotIn":
            if not values:
                problems.append(required(f"{path}.values", _SOME))
        case "Exists" | "DoesNotExist":
            if values:
                problems.append(forbidden(f"{path}.values", _NONE))
        case "Gt" | "Lt" if numeric:
            if len(values) != 1:
                problems.append(required(f"{path}.values", _SINGLE))
        case _:
            problems.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = expression.get("key", "")
    problems += [invalid(f"{path}.key", key, text) for text in label_key_problems(key)]
    if not numeric:
        for index, value in enumerate(values):
            problems += [invalid(f"{path}.values[{index}]", value, text) for text in label_value_problems(value)]
    return problems


def _field_problems(expression: Json, path: str) -> list[Problem]:
    key, operator, values = expression.get("key", ""), expression.get("operator", ""), expression.get("values") or ()
    if operator not in ("In", "NotIn"):
        return [invalid(f"{path}.operator", operator, "not a valid selector operator")]
    problems = []
    if len(values) != 1:
        message = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        problems.append(required(f"{path}.values", message))
    if key != "metadata.name":
        return [*problems, invalid(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        problems += [invalid(f"{path}.values[{index}]", value, text) for text in dns_subdomain_problems(value)]
    return problems
