"""Formulas of metrics: arithmetic, and nothing else."""

from __future__ import annotations

import math

import pytest

from kubesched.reports.formula import Formula

METRICS = {"a": 2.0, "b": 0.5, "zero": 0.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a", 2.0, id="a metric"),
        pytest.param("1 + 2 * a - b / 2", 4.75, id="arithmetic"),
        pytest.param("-(a + 1)", -3.0, id="brackets and a sign"),
        pytest.param("max(a, b, 3) + min(a, b) + abs(-a) + sqrt(4) + log(1)", 7.5, id="functions"),
    ],
)
def test_values(text: str, value: float) -> None:
    """Of the metrics that it names."""
    assert Formula(text).value(METRICS) == value


@pytest.mark.parametrize("text", ["a / zero", "log(zero)", "sqrt(-a)"])
def test_what_has_no_value_is_not_a_number(text: str) -> None:
    """A search takes it as a failed trial."""
    assert math.isnan(Formula(text).value(METRICS))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a +",
        "a.b",
        "__import__('os')",
        "a[0]",
        "lambda: 1",
        "'text'",
        "True",
        "a ** 99",
        "f(a)",
        "max()",
        "a < b",
        "x := 1",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """Before anything is run."""
    with pytest.raises(ValueError):
        Formula(text)


def test_names() -> None:
    """They can be checked against the metrics that there are."""
    assert Formula("a + max(b, 2 * c)").names == {"a", "b", "c"}
