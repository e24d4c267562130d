"""Node selectors: terms, fields, and what happens to terms that make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.errors import InvalidObjectError
from kubesched.objects import convert
from kubesched.objects.affinity import NodeSelector, PreferredSchedulingTerm
from kubesched.objects.node_selectors import (
    NodeMatcher,
    compile_node_selector,
    compile_node_selector_strictly,
    compile_preferred_terms,
)

LABELS = {"zone": "a", "disk": "ssd", "cores": "16"}


def matcher(*terms: dict[str, Any]) -> NodeMatcher:
    return compile_node_selector(convert({"nodeSelectorTerms": terms}, NodeSelector))


def label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}


def name(operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]}


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        pytest.param([], False, id="no terms match nothing"),
        pytest.param([{}], False, id="an empty term matches nothing"),
        pytest.param([label("zone", "In", "a", "b")], True, id="In"),
        pytest.param([label("zone", "NotIn", "a")], False, id="NotIn"),
        pytest.param([label("gpu", "NotIn", "a")], True, id="NotIn without the label"),
        pytest.param([label("disk", "Exists")], True, id="Exists"),
        pytest.param([label("disk", "DoesNotExist")], False, id="DoesNotExist"),
        pytest.param([label("cores", "Gt", "15")], True, id="Gt"),
        pytest.param([label("cores", "Gt", "16")], False, id="Gt is strict"),
        pytest.param([label("cores", "Lt", "17")], True, id="Lt"),
        pytest.param([label("disk", "Lt", "17")], False, id="Lt of a word"),
        pytest.param([name("In", "n1")], True, id="the node's name"),
        pytest.param([name("NotIn", "n1")], False, id="any other node"),
        pytest.param([label("zone", "In", "b"), name("In", "n1")], True, id="one term suffices"),
        pytest.param([{**label("zone", "In", "b"), **name("In", "n1")}], False, id="all of a term must hold"),
        pytest.param(
            [label("zone", "Near", "a"), name("In", "n1")], True, id="a senseless term beside one that matches"
        ),
        pytest.param([label("zone", "Near", "a")], False, id="a senseless term alone"),
    ],
)
def test_which_nodes_match(terms: list[dict[str, Any]], matches: bool) -> None:
    """The rules of component-helpers' nodeaffinity."""
    assert matcher(*terms).matches(LABELS, "n1") is matches


def test_fields_are_not_asked_of_a_node_without_a_name() -> None:
    """As upstream: there are no fields to compare."""
    assert matcher(name("In", "n1")).matches(LABELS, "")


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        pytest.param([label("zone", "In", "a")], "", id="all is well"),
        pytest.param(
            [{}, label("zone", "Near", "a")],
            'nodeSelectorTerms[1].matchExpressions[0].operator: Unsupported value: "Near": supported values: '
            '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
            id="an unknown operator",
        ),
        pytest.param(
            [name("Exists"), name("In", "a", "b")],
            '[nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values: '
            '"In", "NotIn", nodeSelectorTerms[1].matchFields[0].values: Invalid value: ["a","b"]: '
            "must have one element]",
            id="two wrong fields",
        ),
        pytest.param(
            [label("cores", "Gt", "1", "x")],
            "[nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: [\"1\",\"x\"]: for 'Gt', 'Lt' operators, "
            "exactly one value is required, nodeSelectorTerms[0].matchExpressions[0].values[1]: Invalid value: "
            "\"x\": for 'Gt', 'Lt' operators, the value must be an integer]",
            id="comparison with two values",
        ),
    ],
)
def test_what_is_wrong_is_told_in_kubernetes_words(terms: list[dict[str, Any]], problem: str) -> None:
    """All problems of all terms, as one message."""
    assert matcher(*terms).problem == problem


def test_the_strict_form_refuses_a_wrong_selector() -> None:
    """nodeaffinity.NewNodeSelector."""
    wrong = convert({"nodeSelectorTerms": [label("zone", "Near", "a")]}, NodeSelector)
    with pytest.raises(InvalidObjectError, match="Unsupported value"):
        compile_node_selector_strictly(wrong)
    right = convert({"nodeSelectorTerms": [label("zone", "In", "a")]}, NodeSelector)
    assert compile_node_selector_strictly(right).matches(LABELS, "n1")


def preferred(*terms: dict[str, Any]) -> list[PreferredSchedulingTerm]:
    return [convert(term, PreferredSchedulingTerm) for term in terms]


def test_preferred_terms_without_weight_or_content_are_left_out() -> None:
    """They cannot score, and are not even looked at for errors."""
    terms = compile_preferred_terms(
        preferred(
            {"weight": 5, "preference": label("zone", "In", "a")},
            {"weight": 0, "preference": label("zone", "Near", "a")},
            {"weight": 7, "preference": {}},
        )
    )
    assert [(term.weight, term.term.matches(LABELS, "n1")) for term in terms] == [(5, True)]


def test_a_wrong_preferred_term_is_refused() -> None:
    """The path starts with the index of the term, as upstream's does."""
    with pytest.raises(InvalidObjectError, match=r"^\[1\]\.matchExpressions\[0\]\.operator: Unsupported value"):
        compile_preferred_terms(preferred({}, {"weight": 1, "preference": label("zone", "Near", "a")}))


def test_matchers_are_equal_by_content() -> None:
    """They are cache keys."""
    assert matcher(label("zone", "In", "a", "b")) == matcher(label("zone", "In", "b", "a"))
    assert len({matcher(name("In", "x")), matcher(name("In", "x"))}) == 1
