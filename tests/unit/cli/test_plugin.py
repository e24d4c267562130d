"""`kubesched plugin`: what it writes works, what it finds is printed, what is wrong is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubesched.cli.main import main

LIAR = """
from kubesched.framework import DependsOn, FilterPlugin, Status


class Liar(FilterPlugin):
    name = "Liar"
    depends_on = DependsOn.NODE

    def filter(self, state, pod, node):
        return Status.unschedulable("crowded") if node.pods else None


class Misspelt(FilterPlugin):
    name = "Misspelt"
    depend_on = DependsOn.NODE

    def filter(self, state, pod, node):
        return None
"""


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["plugin", *arguments])
    return caught.value.code if isinstance(caught.value.code, int) else 0


@pytest.mark.parametrize("kind", ["filter", "score"])
def test_a_new_plugin_works(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own tests pass, its configuration is valid."""
    assert run("new", "PreferGreen", "--kind", kind, "--folder", str(tmp_path)) == 0
    folder = tmp_path / "prefer-green"
    assert {Path(line).name for line in capsys.readouterr().out.split()} == {file.name for file in folder.iterdir()}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pyproject.toml"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert "2 passed" in ran.stdout, ran.stdout
    validate = [sys.executable, "-m", "kubesched", "config", "validate", "scheduler.yaml"]
    subprocess.run(validate, cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "module", "plugin"),
    [
        pytest.param("prefer-green", "prefer_green", "PreferGreen", id="with dashes"),
        pytest.param("GPUCost", "gpu_cost", "GPUCost", id="an acronym"),
        pytest.param("solo", "solo", "Solo", id="one word"),
    ],
)
def test_names(name: str, module: str, plugin: str, tmp_path: Path) -> None:
    assert run("new", name, "--folder", str(tmp_path)) == 0
    [file] = tmp_path.glob(f"*/{module}.py")
    assert f"class {plugin}(" in file.read_text()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(["new", "9lives"], "cannot be the name of a plugin", id="no name"),
        pytest.param(["new", "there"], "exists already", id="a folder that exists"),
        pytest.param(["new", "Fine", "--kind", "bind"], "--kind must be one of filter, score", id="a kind we cannot"),
        pytest.param(["check", "liar"], "name it as MODULE:CLASS", id="no class"),
        pytest.param(["check", "nobody_here:X"], "No module named 'nobody_here'", id="no module"),
        pytest.param(["check", "liar_plugin:Misspelt"], "is it meant to be depends_on?", id="misspelt"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "liar_plugin.py").write_text(LIAR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(*arguments) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert printed.count("\n") == 1
    assert problem in printed


def test_a_lie_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "liar_plugin.py").write_text(LIAR)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("check", "liar_plugin:Liar") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "liar_plugin:Liar: a kept answer is not what the plugin would say now"
    assert lines[-1].startswith("depends_on = NODE is not true")


def test_a_profile_says_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All but the first questions of each kind of pods, for a plugin that looks at nodes alone."""
    (tmp_path / "liar_plugin.py").write_text(LIAR)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("profile", "liar_plugin:Liar", "--nodes", "50", "--pods", "100") == 0
    printed = capsys.readouterr().out
    assert "Liar at filter: 100 pods of 10 kinds on 50 nodes" in printed
    assert "it was asked for 500 of 5000 answers about a node; 90.0% were kept" in printed
    assert "signature is not defined" in printed
    assert "one node at a time" in printed
