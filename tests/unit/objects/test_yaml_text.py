"""YAML of any kind gives values or one clear line; never a crash."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from kubesched.config import load_config
from kubesched.errors import KubeschedError
from kubesched.objects.manifests import load_manifests
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


DOUBLING = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40))
BILLIONS = "a0: &a0 [v]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(lambda text: load_yaml(text, yaml.CSafeLoader), id="a body"),
        pytest.param(lambda text: load_manifests(text, "bomb.yaml"), id="a manifest"),
        pytest.param(load_config, id="a configuration"),
    ],
)
@pytest.mark.parametrize("text", [pytest.param(DOUBLING, id="merge keys"), pytest.param(BILLIONS, id="aliases")])
def test_a_text_that_doubles_with_every_line_is_refused(load: Callable[[str], object], text: str) -> None:
    """Forty lines that stand for a million million values."""
    with pytest.raises((yaml.YAMLError, KubeschedError), match="excessive aliasing"):
        load(text)


def test_merge_keys_and_aliases_that_people_write() -> None:
    """They mean what they always meant: what stands first wins."""
    text = "base: &base {a: 1, b: 2}\nother: &other {b: 3, c: 4}\nboth: {<<: [*base, *other], c: 5}\nagain: *base"
    both = load_yaml(text, yaml.CSafeLoader)
    assert (both["both"], both["again"]) == ({"a": 1, "b": 2, "c": 5}, {"a": 1, "b": 2})
