"""Label keys and values."""

from __future__ import annotations

import pytest

from kubesched.config.qualified_name import objections_to_label_key, objections_to_label_value


@pytest.mark.parametrize("key", ["a", "a.b-c_d", "example.com/a", "1", "a" * 63, "x" * 63 + ".y/" + "a"])
def test_good_keys(key: str) -> None:
    """Names with and without a DNS prefix."""
    assert objections_to_label_key(key) == []


@pytest.mark.parametrize(
    ("key", "beginnings"),
    [
        pytest.param("", ["name part must be non-empty", "name part must consist"], id="nothing"),
        pytest.param("a" * 64, ["name part must be no more than 63 bytes"], id="too long"),
        pytest.param("-a", ["name part must consist"], id="a dash at the start"),
        pytest.param("a\n", ["name part must consist"], id="a line break at the end"),
        pytest.param("/a", ["prefix part must be non-empty"], id="an empty prefix"),
        pytest.param("Example.com/a", ["prefix part a lowercase RFC 1123 subdomain"], id="an upper-case prefix"),
        pytest.param("x." * 130 + "y/a", ["prefix part must be no more than 253 bytes"], id="a long prefix"),
        pytest.param("a/b/c", ["a valid label key must consist"], id="two slashes"),
    ],
)
def test_bad_keys(key: str, beginnings: list[str]) -> None:
    """Each objection says which part is wrong and why."""
    objections = objections_to_label_key(key)
    assert len(objections) == len(beginnings)
    for objection, beginning in zip(objections, beginnings, strict=True):
        assert objection.startswith(beginning)


def test_values() -> None:
    """A value may be empty, but not long, and not of other characters."""
    assert objections_to_label_value("") == []
    assert objections_to_label_value("a_b") == []
    assert len(objections_to_label_value("-" * 64)) == 2
