"""The page on planning: its commands print what it says, and its pictures are of today."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from kubesched.cli.main import main

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/planning.md").read_text()
COMMANDS = re.findall(r"^\$ kubesched (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("command", "printed"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_its_commands_print_what_it_says(
    command: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the folder of its files."""
    monkeypatch.chdir(ROOT / "docs/planning")
    with pytest.raises(SystemExit):
        main(shlex.split(command))
    assert capsys.readouterr().out == printed


def test_there_are_five_situations_and_all_commands() -> None:
    """A page that lost its examples would pass without this."""
    assert {command.split()[0] for command, _ in COMMANDS} == {"what-if", "capacity", "rollout", "explain", "defrag"}
    assert PAGE.count("\n## ") == 8


def test_its_code_prints_what_it_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The Python interface."""
    monkeypatch.chdir(ROOT / "docs/planning")
    for code, printed in re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL):
        module: dict[str, Any] = {"__name__": "page"}
        exec(code, module)
        assert capsys.readouterr().out == printed


def test_its_pictures_are_of_today() -> None:
    """python tools/plan_pictures.py docs/planning docs/pictures"""
    from tools.plan_pictures import pictures

    for name, picture in pictures(ROOT / "docs/planning").items():
        assert (ROOT / "docs/pictures" / name).read_text() == picture
