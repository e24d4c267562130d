"""A newcomer copies the plugin of the guide and breaks it in three ways: one clear line each, as the guide shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "writing-a-plugin.md").read_text()
CHECK = ("plugin", "check", "prefer_green:PreferGreen", "--config", "scheduler.yaml")
VALIDATE = ("config", "validate", "scheduler.yaml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The two files of the guide's first step."""
    code, config = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL), re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    assert config is not None
    (tmp_path / "prefer_green.py").write_text(code[1])
    (tmp_path / "scheduler.yaml").write_text(config[1])
    return tmp_path


def kubesched(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "kubesched", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return ran.returncode, (ran.stdout + ran.stderr).splitlines()


def test_it_works_as_it_stands(folder: Path) -> None:
    assert kubesched(folder, *VALIDATE) == (0, ["scheduler.yaml is valid"])
    assert kubesched(folder, *CHECK) == (0, ["prefer_green:PreferGreen keeps its promises on 100 random clusters"])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("def score(", "async def score(", id="async where nobody awaits"),
        pytest.param("def score(", "def scores(", id="a misspelt method"),
    ],
)
def test_what_cannot_be_called_is_one_line(folder: Path, right: str, wrong: str) -> None:
    """That of the guide, to the letter; from the check, from the validation, and so from a scheduler that starts."""
    plugin = folder / "prefer_green.py"
    plugin.write_text(plugin.read_text().replace(right, wrong))
    shown = next(line for line in PAGE.splitlines() if line.startswith(f"| `{wrong}"))
    expected = shown.split("`")[3]
    assert kubesched(folder, *VALIDATE) == (1, [expected])
    assert kubesched(folder, *CHECK) == (1, [expected])


def test_what_fails_on_some_cluster_is_shown_by_a_small_one(folder: Path) -> None:
    """It loads and works on the author's cluster. The example is a node without labels, and a pod."""
    plugin = folder / "prefer_green.py"
    plugin.write_text(plugin.read_text().replace("node.labels.get(self._label)", "node.labels[self._label]"))
    assert kubesched(folder, *VALIDATE)[0] == 0
    code, lines = kubesched(folder, *CHECK)
    assert code == 1
    assert lines[0] == "prefer_green:PreferGreen: it fails"
    assert re.fullmatch(r"  1\. node . is there, without labels", lines[1])
    assert lines[2] == "  2. asked about pod p"
    assert "KeyError: 'example.com/power' (prefer_green.py:13)" in lines[3]
    assert "KeyError: 'example.com/power' (prefer_green.py:13)" in PAGE
    assert len(lines) == 4
