"""Label and field selectors."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.errors import InvalidObjectError
from kubesched.objects import convert
from kubesched.objects.label_query import parse_label_selector
from kubesched.objects.meta import LabelSelector
from kubesched.objects.requirements import Operator, Requirement
from kubesched.objects.selectors import (
    FieldSelector,
    Selector,
    compile_label_selector,
    parse_field_selector,
    selector_from_labels,
)

LABELS = {"app": "web", "tier": "front", "rank": "7"}


def compiled(**source: Any) -> Selector:
    return compile_label_selector(convert(source, LabelSelector))


def expression(key: str, operator: str, *values: str) -> Selector:
    return compiled(matchExpressions=[{"key": key, "operator": operator, "values": values}])


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        pytest.param(compile_label_selector(None), False, id="no selector selects nothing"),
        pytest.param(compiled(), True, id="an empty selector selects everything"),
        pytest.param(compiled(matchLabels={"app": "web"}), True, id="equal label"),
        pytest.param(compiled(matchLabels={"app": "web", "tier": "back"}), False, id="one of two labels differs"),
        pytest.param(expression("app", "In", "db", "web"), True, id="In holds the value"),
        pytest.param(expression("zone", "In", "a"), False, id="In without the label"),
        pytest.param(expression("app", "NotIn", "web"), False, id="NotIn holds the value"),
        pytest.param(expression("zone", "NotIn", "a"), True, id="NotIn without the label"),
        pytest.param(expression("app", "Exists"), True, id="Exists"),
        pytest.param(expression("zone", "Exists"), False, id="Exists without the label"),
        pytest.param(expression("zone", "DoesNotExist"), True, id="DoesNotExist"),
        pytest.param(expression("app", "DoesNotExist"), False, id="DoesNotExist with the label"),
    ],
)
def test_label_selectors(selector: Selector, matches: bool) -> None:
    """metav1.LabelSelectorAsSelector's rules."""
    assert selector.matches(LABELS) is matches


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            '"Gt" is not a valid label selector operator',
            id="an operator of node selectors",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="In without values",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
            id="Exists with values",
        ),
        pytest.param(
            {"matchLabels": {"a": "b c"}},
            'values[0][a]: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
            "'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            id="a value that no label can have",
        ),
        pytest.param(
            {"matchLabels": {"": "b"}},
            'key: Invalid value: "": name part must be non-empty; name part must consist of alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
            "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            id="an empty key",
        ),
    ],
)
def test_a_wrong_label_selector_is_refused_in_kubernetes_words(source: dict[str, Any], message: str) -> None:
    """The messages are those of labels.NewRequirement."""
    with pytest.raises(InvalidObjectError) as caught:
        compiled(**source)
    assert str(caught.value) == message


def test_selectors_are_equal_by_content() -> None:
    """They are cache keys: order and repetition do not matter."""
    one = compiled(matchLabels={"b": "1", "a": "2"})
    other = compiled(
        matchExpressions=[
            {"key": "a", "operator": "In", "values": ["2", "2"]},
            {"key": "b", "operator": "In", "values": ["1"]},
        ]
    )
    assert one == other
    assert len({one, other, selector_from_labels({"a": "2", "b": "1"})}) == 1
    assert one.requirements == (Requirement("a", Operator.IN, ("2",)), Requirement("b", Operator.IN, ("1",)))
    assert Selector.NOTHING != Selector.EVERYTHING


def test_a_selector_from_labels_is_not_checked() -> None:
    """A pod's nodeSelector is taken as it is (labels.SelectorFromSet)."""
    assert selector_from_labels({"odd key": "odd value"}).matches({"odd key": "odd value"})
    assert selector_from_labels({}).selects_everything


@pytest.mark.parametrize(
    ("text", "canonical", "matches"),
    [
        pytest.param("", "", True, id="nothing said"),
        pytest.param("app=web", "app=web", True, id="equality"),
        pytest.param("app==web , tier!=back", "app=web,tier!=back", True, id="both equalities and spaces"),
        pytest.param("app in (web,db)", "app in (db,web)", True, id="in"),
        pytest.param("app notin (web,db)", "app notin (db,web)", False, id="notin"),
        pytest.param("app,!zone", "app,!zone", True, id="exists and not"),
        pytest.param("rank>5", "rank>5", True, id="greater"),
        pytest.param("rank<5", "rank<5", False, id="less"),
        pytest.param("app>5", "app>5", False, id="comparing what is no number"),
        pytest.param("in in (in)", "in=in", False, id="keywords as names"),
        pytest.param("app in (,web)", "app in (,web)", True, id="an empty value in a set"),
        pytest.param("zone in ()", "zone=", False, id="an empty set holds the empty value"),
        pytest.param("zone=,app", "app,zone=", False, id="an empty value"),
    ],
)
def test_label_selectors_as_text(text: str, canonical: str, matches: bool) -> None:
    """labels.Parse."""
    selector = parse_label_selector(text)
    assert str(selector) == canonical
    assert selector.matches(LABELS) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a=b,", "found '', expected: identifier after ','", id="a comma at the end"),
        pytest.param("=b", "found '=', expected: !, identifier, or 'end of string'", id="no key"),
        pytest.param("!", "unable to parse requirement: found '', expected: identifier", id="a lone exclamation mark"),
        pytest.param("!a=b", "found '=', expected: ',' or 'end of string'", id="not and equal"),
        pytest.param(
            "a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt", id="no operator"
        ),
        pytest.param("a in b", "unable to parse requirement: found 'b' expected: '('", id="a set without parentheses"),
        pytest.param("a in (b", "unable to parse requirement: found '', expected: ',' or ')'", id="an open set"),
        pytest.param(
            "a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'", id="no comma in a set"
        ),
        pytest.param(
            "a==!b", "unable to parse requirement: found '!', expected: identifier", id="an operator as value"
        ),
        pytest.param(
            "a>b",
            'unable to parse requirement: values[0]: Invalid value: "b": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="greater than a word",
        ),
    ],
)
def test_a_wrong_text_is_refused_in_kubernetes_words(text: str, message: str) -> None:
    """The messages are those of labels.Parse."""
    with pytest.raises(InvalidObjectError) as caught:
        parse_label_selector(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        pytest.param("", True, id="nothing said"),
        pytest.param("metadata.name=x,status.phase!=Failed", True, id="equal and not equal"),
        pytest.param("status.phase==Failed", False, id="double equals"),
        pytest.param("spec.nodeName=", True, id="an absent field is empty"),
        pytest.param("spec.nodeName!=", False, id="an absent field is not other than empty"),
        pytest.param(r"note=a\,b\=c\\d", True, id="escaped characters"),
    ],
)
def test_field_selectors(text: str, matches: bool) -> None:
    """fields.ParseSelector, and its text reads back."""
    selector = parse_field_selector(text)
    assert selector.matches({"metadata.name": "x", "status.phase": "Running", "note": r"a,b=c\d"}) is matches
    assert parse_field_selector(str(selector)) == selector
    assert isinstance(hash(selector), int)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'", id="no operator"
        ),
        pytest.param(r"a=\x", r"invalid field selector: invalid escape sequence: \x", id="an unknown escape"),
        pytest.param("a=b\\", "invalid field selector: invalid escape sequence: \\", id="a backslash at the end"),
        pytest.param("a=b=c", "invalid field selector: unescaped character in value: 61", id="a bare equals sign"),
    ],
)
def test_a_wrong_field_selector_is_refused(text: str, message: str) -> None:
    """The messages are those of fields.ParseSelector."""
    with pytest.raises(InvalidObjectError) as caught:
        parse_field_selector(text)
    assert str(caught.value) == message


def test_field_selectors_are_equal_by_content() -> None:
    """Order does not matter."""
    assert parse_field_selector("a=1,b=2") == parse_field_selector("b==2,a=1")
    assert parse_field_selector("") == FieldSelector.EVERYTHING
