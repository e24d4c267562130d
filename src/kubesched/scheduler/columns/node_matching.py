"""Node selectors over columns: which rows match a selector, a term or a requirement."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kubesched.objects.node_selectors import NodeMatcher, NodeTerm
from kubesched.objects.requirements import Operator, Requirement, parse_int64
from kubesched.objects.selectors import FieldRequirement
from kubesched.scheduler.columns.node_view import NodeView
from kubesched.scheduler.columns.types import Booleans


def matching_labels(labels: Mapping[str, str], nodes: NodeView) -> Booleans:
    """Nodes that carry all these labels (a pod's `nodeSelector`)."""
    matching = np.ones(len(nodes), dtype=np.bool_)
    for key, value in labels.items():
        matching &= nodes.domains(key) == nodes.label(key).id_of(value)
    return matching


def matching_selector(selector: NodeMatcher, nodes: NodeView) -> Booleans:
    """Nodes that at least one term matches; none if there is no term."""
    matching = np.zeros(len(nodes), dtype=np.bool_)
    for term in selector.terms:
        matching |= matching_term(term, nodes)
    return matching


def matching_term(term: NodeTerm, nodes: NodeView) -> Booleans:
    """Nodes that satisfy every requirement of a term; none if the term cannot be understood."""
    if term.problems or term.labels.selects_nothing:
        return np.zeros(len(nodes), dtype=np.bool_)
    matching = np.ones(len(nodes), dtype=np.bool_)
    for requirement in term.labels.requirements:
        matching &= matching_requirement(requirement, nodes)
    for field in term.fields.requirements:
        matching &= _matching_field(field, nodes)
    return matching


def matching_requirement(requirement: Requirement, nodes: NodeView) -> Booleans:
    """Nodes whose label satisfies one requirement."""
    column = nodes.label(requirement.key)
    match requirement.operator:
        case Operator.IN:
            return column.is_in(requirement.values, nodes.rows)
        case Operator.NOT_IN:
            return ~column.is_in(requirement.values, nodes.rows)
        case Operator.EXISTS:
            return column.present(nodes.rows)
        case Operator.DOES_NOT_EXIST:
            return ~column.present(nodes.rows)
        case _:
            return _comparing(requirement, nodes)


def _comparing(requirement: Requirement, nodes: NodeView) -> Booleans:
    bound = parse_int64(requirement.values[0])
    if bound is None:
        return np.zeros(len(nodes), dtype=np.bool_)
    numbers, is_number = nodes.label(requirement.key).integers()
    holds = numbers > bound if requirement.operator is Operator.GT else numbers < bound
    by_value = np.append(holds & is_number, False)  # the last entry answers for ABSENT (-1)
    return by_value[nodes.domains(requirement.key)]


def _matching_field(field: FieldRequirement, nodes: NodeView) -> Booleans:
    """`metadata.name` is the only field that nodes have; any other counts as empty."""
    if field.field != "metadata.name":
        return np.full(len(nodes), (field.value == "") is field.equals, dtype=np.bool_)
    is_named = np.zeros(len(nodes), dtype=np.bool_)
    position = nodes.position_of(field.value)
    if position is not None:
        is_named[position] = True
    return is_named if field.equals else ~is_named
