"""YAML of any kind gives values or one clear line; never a crash."""

from __future__ import annotations

import pytest
import yaml

from kubesched.objects.yaml_text import load_yaml, load_yaml_documents, yaml_problem


def test_values() -> None:
    """One document, or all of them."""
    assert load_yaml("a: [1, {b: c}]", yaml.CSafeLoader) == {"a": [1, {"b": "c"}]}
    assert load_yaml_documents(b"a: 1\n---\nb: 2", yaml.CSafeLoader) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a:\n  [1,", "line 3: while parsing a flow node, did not find expected node content", id="broken"),
        pytest.param("\0", "unacceptable character #x0000: control characters are not allowed at position 0", id="NUL"),
        pytest.param("a: 0x_", "invalid literal for int() with base 16: ''", id="a number that is none"),
        pytest.param("[" * 100_000, "nested too deeply", id="lists in lists"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply", id="objects in objects"),
        pytest.param("- " * 100_000, "nested too deeply", id="lists without brackets"),
    ],
)
def test_what_is_wrong_is_one_line(text: str | bytes, problem: str) -> None:
    """With its place, where the parser knows it."""
    with pytest.raises(yaml.YAMLError) as caught:
        load_yaml(text, yaml.CSafeLoader)
    assert yaml_problem(caught.value) == problem
