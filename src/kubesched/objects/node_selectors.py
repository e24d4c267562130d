"""Node selectors and preferred node terms, compiled (component-helpers nodeaffinity)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from kubesched.objects.requirements import (
    Operator,
    Requirement,
    aggregate,
    invalid,
    not_supported,
    requirement_problems,
)
from kubesched.objects.selectors import FieldRequirement, FieldSelector, Selector

_OPERATORS: Final = {operator.value: operator for operator in Operator}
_FIELD_OPERATORS: Final = ("In", "NotIn")


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Requirements on a node's labels and fields, all of which must hold. A term with problems matches no node."""

    labels: Selector = Selector.EVERYTHING
    fields: FieldSelector = FieldSelector.EVERYTHING
    problems: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        if self.problems or not self.labels.matches(labels):
            return False
        # A node without a name has no fields, and then upstream does not ask for any.
        return not node_name or self.fields.matches({"metadata.name": node_name})


@dataclass(frozen=True, slots=True)
class NodeMatcher:
    """A compiled node selector: one term suffices, and without terms it matches no node.

    Terms that cannot be understood match nothing, and are no error as long as another term matches
    (LazyErrorNodeSelector): a caller that must report it asks for `problem` when no term matched.
    """

    terms: tuple[NodeTerm, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        return any(term.matches(labels, node_name) for term in self.terms)

    @property
    def problem(self) -> str:
        """What Kubernetes says about the terms it cannot understand; empty if it understands all."""
        problems = [problem for term in self.terms for problem in term.problems]
        return aggregate(problems) if problems else ""


@dataclass(frozen=True, slots=True)
class PreferredNodeTerm:
    """A node that matches is worth `weight`."""

    weight: int
    term: NodeTerm


def compile_node_selector(source: NodeSelector) -> NodeMatcher:
    """The matcher for a node selector; what is wrong in it is kept in its terms. Empty terms match nothing."""
    return NodeMatcher(
        tuple(
            _compile_term(term, f"nodeSelectorTerms[{i}]")
            for i, term in enumerate(source.node_selector_terms)
            if not _is_empty(term)
        )
    )


def compile_node_selector_strictly(source: NodeSelector) -> NodeMatcher:
    """The matcher for a node selector, or InvalidObjectError if any term is wrong (NewNodeSelector)."""
    matcher = compile_node_selector(source)
    if problem := matcher.problem:
        raise InvalidObjectError(problem)
    return matcher


def compile_preferred_terms(source: Iterable[PreferredSchedulingTerm]) -> tuple[PreferredNodeTerm, ...]:
    """The terms that can score; InvalidObjectError if any of them is wrong (NewPreferredSchedulingTerms)."""
    terms = tuple(
        PreferredNodeTerm(preferred.weight, _compile_term(preferred.preference, f"[{i}]"))
        for i, preferred in enumerate(source)
        if preferred.weight and not _is_empty(preferred.preference)
    )
    problems = [problem for preferred in terms for problem in preferred.term.problems]
    if problems:
        raise InvalidObjectError(aggregate(problems))
    return terms


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _compile_term(term: NodeSelectorTerm, path: str) -> NodeTerm:
    problems: list[str] = []
    labels = _compile_expressions(term.match_expressions, f"{path}.matchExpressions", problems)
    fields = _compile_fields(term.match_fields, f"{path}.matchFields", problems)
    return NodeTerm(problems=tuple(problems)) if problems else NodeTerm(labels=labels, fields=fields)


def _compile_expressions(expressions: tuple[NodeSelectorRequirement, ...], path: str, problems: list[str]) -> Selector:
    requirements = []
    for i, expression in enumerate(expressions):
        operator = _OPERATORS.get(expression.operator)
        if operator is None:
            problems.append(not_supported(f"{path}[{i}].operator", expression.operator, _OPERATORS))
            continue
        problems += requirement_problems(expression.key, operator, expression.values, f"{path}[{i}]")
        requirements.append(Requirement.of(expression.key, operator, expression.values))
    return Selector.of(requirements)


def _compile_fields(fields: tuple[NodeSelectorRequirement, ...], path: str, problems: list[str]) -> FieldSelector:
    requirements = []
    for i, field in enumerate(fields):
        if field.operator not in _FIELD_OPERATORS:
            problems.append(not_supported(f"{path}[{i}].operator", field.operator, _FIELD_OPERATORS))
        elif len(field.values) != 1:
            problems.append(invalid(f"{path}[{i}].values", field.values, "must have one element"))
        else:
            requirements.append(FieldRequirement(field.key, field.operator == "In", field.values[0]))
    return FieldSelector(tuple(sorted(set(requirements))))
