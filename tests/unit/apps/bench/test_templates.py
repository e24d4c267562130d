"""Rendering object templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched.apps.bench.templates import Template
from kubesched.errors import InvalidObjectError


def rendered(folder: Path, text: str, index: int = 7, count: int = 20) -> object:
    path = folder / "object.yaml"
    path.write_text(text)
    return Template(path).render(index, count)


@pytest.mark.parametrize(
    ("action", "value"),
    [
        pytest.param("{{.Index}}", "7", id="the index"),
        pytest.param("{{ .Count }}", "20", id="the count, with blanks"),
        pytest.param("{{ DivideInt .Index 5 }}", "1", id="integer division truncates"),
        pytest.param("{{ DivideInt -7 5 }}", "-1", id="towards zero, also below it"),
        pytest.param("{{ DivideFloat .Index 2 }}", "3.5", id="float division"),
        pytest.param("{{ Mod .Index 5 }}", "2", id="remainder"),
        pytest.param("{{ AddInt .Index .Count 1 }}", "28", id="a sum of many"),
        pytest.param("{{ SubtractInt .Count .Index }}", "13", id="difference"),
        pytest.param("{{ MultiplyInt .Index 2 3 }}", "42", id="product"),
    ],
)
def test_actions_are_evaluated(tmp_path: Path, action: str, value: str) -> None:
    """The template functions of scheduler_perf."""
    assert rendered(tmp_path, f"name: 'x-{action}'") == {"name": f"x-{value}"}


def test_a_constant_template_is_parsed_once(tmp_path: Path) -> None:
    """All objects of a constant template share one manifest."""
    path = tmp_path / "object.yaml"
    path.write_text("kind: Pod")
    template = Template(path)
    assert template.render(1, 2) is template.render(2, 2)


def test_field_names_are_read_as_go_reads_them(tmp_path: Path) -> None:
    """A capital is forgiven in a field's name, but labels are the user's."""
    text = "spec: {NodeTaintsPolicy: Honor}\nmetadata: {labels: {App: Web}}"
    assert rendered(tmp_path, text) == {"spec": {"nodeTaintsPolicy": "Honor"}, "metadata": {"labels": {"App": "Web"}}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: {{ Nonsense 1 2 }}", "cannot understand", id="an unknown function"),
        pytest.param("a: {{ DivideInt 1 0 }}", "cannot understand", id="a division by zero"),
        pytest.param("a: {{ DivideInt 1 }}", "cannot understand", id="too few arguments"),
        pytest.param("a: [", "no YAML", id="no YAML"),
        pytest.param("- a", "holds no object", id="a list"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, problem: str) -> None:
    """With the file's name."""
    with pytest.raises(InvalidObjectError, match=problem) as error:
        rendered(tmp_path, text)
    assert "object.yaml" in str(error.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """A typo in a path is an error with that path."""
    with pytest.raises(InvalidObjectError, match="cannot be read"):
        Template(tmp_path / "absent.yaml")
