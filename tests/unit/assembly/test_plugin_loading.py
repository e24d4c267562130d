"""Plugins that a configuration names as `module:Class`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kubesched.assembly.plugin_loading import METHODS, load_plugins
from kubesched.config import load_config
from kubesched.errors import ConfigurationError
from kubesched.framework import EXTENSION_POINTS

HEAD = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled:
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a module `mine`, which is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    return tmp_path


def load(folder: Path, source: str, *references: str) -> tuple[list[str], set[str]]:
    """The names under which the plugins are enabled, and the names of all that were found."""
    (folder / "mine.py").write_text(f"from kubesched.framework import *\n{source}")
    text = HEAD + "".join(f"      - name: {reference}\n" for reference in references)
    config, registry = load_plugins(load_config(text), folder)
    return [plugin.name for plugin in config.profiles[0].plugins.multi_point.enabled], set(registry)


def test_a_plugin_goes_by_its_own_name(folder: Path) -> None:
    """As it does in events and metrics; nobody has to write an `__init__` that does nothing."""
    source = "class Mine(FilterPlugin):\n    name = 'Choosy'\n    def filter(self, state, pod, node): ...\n"
    enabled, found = load(folder, source, "mine:Mine")
    assert "Choosy" in enabled
    assert "Choosy" in found


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        pytest.param("", "AttributeError: module 'mine' has no attribute 'Mine'", id="no such class"),
        pytest.param("1 // 0", "ZeroDivisionError: integer division or modulo by zero", id="a module that raises"),
        pytest.param("Mine = 5", "Mine is no subclass of kubesched.framework.Plugin", id="no class"),
        pytest.param("class Mine(FilterPlugin): ...", "the class has no `name`", id="no name"),
        pytest.param("class Mine(Plugin): name = 'M'", "the class serves no extension point", id="no extension point"),
        pytest.param(
            "class Mine(FilterPlugin):\n    name = 'M'\n    def filter_node(self, state, pod, node): ...\n",
            "the class is a FilterPlugin but defines no filter or filter_nodes",
            id="a misspelt method",
        ),
    ],
)
def test_what_is_wrong_with_a_plugin(folder: Path, source: str, problem: str) -> None:
    """One line that names it."""
    with pytest.raises(ConfigurationError) as caught:
        load(folder, source, "mine:Mine")
    assert caught.value.problems == (f"plugin mine:Mine: {problem}",)


def test_two_plugins_of_one_name(folder: Path) -> None:
    """Nobody could tell them apart."""
    source = "".join(
        f"class {name}(FilterPlugin):\n    name = 'M'\n    def filter(self, state, pod, node): ...\n" for name in "AB"
    )
    with pytest.raises(ConfigurationError, match="plugin mine:B: another plugin is called M, too"):
        load(folder, source, "mine:A", "mine:B")


def test_every_extension_point_has_its_methods() -> None:
    """They are those of its base class."""
    assert METHODS.keys() == EXTENSION_POINTS.keys()
    for point, methods in METHODS.items():
        assert all(hasattr(EXTENSION_POINTS[point], method) for method in methods)
