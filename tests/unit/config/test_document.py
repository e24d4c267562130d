"""Text to plain data."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.config.document import parse_document
from kubesched.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: [x, y]", {"a": 1, "b": ["x", "y"]}, id="YAML"),
        pytest.param('{"a": {"b": null}}', {"a": {"b": None}}, id="JSON"),
        pytest.param('{\n\t"a": 1}', {"a": 1}, id="JSON with tabs"),
        pytest.param("{a: 1, b: c}", {"a": 1, "b": "c"}, id="YAML in flow style"),
        pytest.param("day: 2026-01-02", {"day": "2026-01-02"}, id="a date stays text"),
        pytest.param("a: 1e3\nb: 2E-1\nc: 1e", {"a": 1000.0, "b": 0.2, "c": "1e"}, id="numbers with an exponent"),
        pytest.param("---\na: 1\n---\n# the end\n", {"a": 1}, id="nothing after a separator"),
        pytest.param("on: 1\n1: 2", {"on": 1, "1": 2}, id="keys are text"),
        pytest.param("base: &b {x: 1}\nuse: {<<: *b, y: 2}", {"base": {"x": 1}, "use": {"x": 1, "y": 2}}, id="a merge"),
    ],
)
def test_parse(text: str, expected: dict[str, Any]) -> None:
    """YAML and JSON give the same plain data."""
    assert parse_document(text) == expected


@pytest.mark.parametrize(
    ("text", "duplicates"),
    [
        pytest.param("a: 1\na: 2", ("a",), id="YAML"),
        pytest.param('{"a": 1, "b": 2, "a": 3}', ("a",), id="JSON"),
        pytest.param("b: &b {x: 1}\nu: {<<: *b, x: 2}", (), id="a written key over a merged one is no duplicate"),
    ],
)
def test_duplicates(text: str, duplicates: tuple[str, ...]) -> None:
    """Repeated keys are remembered for strict decoding."""
    assert parse_document(text).duplicates == duplicates


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "must hold one mapping, not null", id="nothing"),
        pytest.param("[1]", "must hold one mapping, not array", id="a list"),
        pytest.param("a: [", "yaml: line 2: while parsing a flow node", id="broken YAML"),
        pytest.param("a: 1\n---\nb: 2", "expected a single document", id="two documents"),
        pytest.param("a: !!python/object:os.system {}", "could not determine a constructor", id="an unsafe tag"),
        pytest.param("&a [*a]", "recursive", id="a document that contains itself"),
        pytest.param("a: " + "[" * 3000 + "]" * 3000, "nested too deeply", id="YAML nested too deeply"),
        pytest.param('{"a":' * 90000, "nested too deeply", id="JSON nested too deeply"),
    ],
)
def test_refused(text: str, message: str) -> None:
    """A text that is no single mapping is refused with a reason."""
    with pytest.raises(ConfigurationError, match=message):
        parse_document(text)
