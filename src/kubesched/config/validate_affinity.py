"""The rules that NodeAffinity's addedAffinity must meet: every requirement must make a selector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubesched.config.field_errors import invalid, not_supported
from kubesched.config.qualified_name import objections_to_label_key, objections_to_label_value
from kubesched.objects.affinity import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm

_LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS: Final = ("In", "NotIn")


def validate_added_affinity(path: str, affinity: NodeAffinity | None) -> Iterator[str]:
    """Every objection to the terms; empty ones match nothing and are skipped, as when they are evaluated."""
    if affinity is None:
        return
    required = affinity.required_during_scheduling_ignored_during_execution
    for index, term in enumerate(required.node_selector_terms if required else ()):
        term_path = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{index}]"
        yield from _term(term_path, term)
    for index, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        if preferred.weight:
            yield from _term(f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]", preferred.preference)


def _term(path: str, term: NodeSelectorTerm) -> Iterator[str]:
    for index, requirement in enumerate(term.match_expressions):
        yield from _label_requirement(f"{path}.matchExpressions[{index}]", requirement)
    for index, requirement in enumerate(term.match_fields):
        yield from _field_requirement(f"{path}.matchFields[{index}]", requirement)


def _label_requirement(path: str, requirement: NodeSelectorRequirement) -> Iterator[str]:
    values = requirement.values
    if requirement.operator not in _LABEL_OPERATORS:
        yield not_supported(f"{path}.operator", requirement.operator, _LABEL_OPERATORS)
        return
    objections = objections_to_label_key(requirement.key)
    if objections:
        yield invalid(f"{path}.key", requirement.key, "; ".join(objections))
    match requirement.operator:
        case "In" | "NotIn":
            if not values:
                yield invalid(f"{path}.values", None, "for 'in', 'notin' operators, values set can't be empty")
        case "Exists" | "DoesNotExist":
            if values:
                yield invalid(f"{path}.values", values, "values set must be empty for exists and does not exist")
        case _:
            yield from _bound(path, values)
    for index, value in enumerate(values):
        objections = objections_to_label_value(value)
        if objections:
            yield invalid(f"{path}.values[{index}][{requirement.key}]", value, "; ".join(objections))


def _bound(path: str, values: tuple[str, ...]) -> Iterator[str]:
    if len(values) != 1:
        yield invalid(f"{path}.values", values or None, "for 'Gt', 'Lt' operators, exactly one value is required")
    for index, value in enumerate(values):
        if not _is_int64(value):
            yield invalid(f"{path}.values[{index}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")


def _is_int64(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdecimal() and -(2**63) <= int(text) < 2**63


def _field_requirement(path: str, requirement: NodeSelectorRequirement) -> Iterator[str]:
    if requirement.operator not in _FIELD_OPERATORS:
        yield not_supported(f"{path}.operator", requirement.operator, _FIELD_OPERATORS)
    elif len(requirement.values) != 1:
        yield invalid(f"{path}.values", requirement.values or None, "must have one element")
