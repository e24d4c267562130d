"""Plugins that a configuration names as `module:Class`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubesched.config import load_config
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod
from kubesched.scheduler.framework import EXTENSION_POINTS, SUCCESS, BindPlugin, CycleState, Status
from kubesched.scheduler.plugin_loading import METHODS, load_plugins

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
    (folder / "mine.py").write_text(f"from kubesched.scheduler.framework import *\n{source}")
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
        pytest.param(
            "1 // 0", "ZeroDivisionError: integer division or modulo by zero (mine.py:2)", id="a module that raises"
        ),
        pytest.param(
            "import missing", "ModuleNotFoundError: No module named 'missing' (mine.py:2)", id="an import fails"
        ),
        pytest.param("Mine = 5", "5 is no subclass of kubesched.scheduler.framework.Plugin", id="no class"),
        pytest.param("class Mine(FilterPlugin): ...", "the class has no `name`", id="no name"),
        pytest.param(
            "class Mine(FilterPlugin): name, depends_on = 'M', 'node'",
            "`depends_on` must be a DependsOn, not 'node'",
            id="not a DependsOn",
        ),
        pytest.param("class Mine(Plugin): name = 'M'", "the class serves no extension point", id="no extension point"),
        pytest.param(
            "class Mine(FilterPlugin):\n    name = 'M'\n    def filter_node(self, state, pod, node): ...\n",
            "the class is a FilterPlugin but defines no filter or filter_nodes",
            id="a misspelt method",
        ),
        pytest.param(
            "class Mine(PermitPlugin):\n    name = 'M'\n    async def permit(self, state, pod, node_name): ...\n",
            "permit must not be async: nobody awaits it",
            id="a method that nobody awaits",
        ),
        pytest.param(
            "class Mine(PreBindPlugin):\n    name = 'M'\n    async def pre_bind(self, *args): ...\n"
            "    async def pre_bind_preflight(self, *args): ...\n",
            "pre_bind_preflight must not be async: nobody awaits it",
            id="one method that is awaited and one that is not",
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


@dataclass
class Entry:
    """As `importlib.metadata` describes what a package offers."""

    name: str
    loaded: object
    value: str = "package.module:Class"

    def load(self) -> object:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


class Offered(BindPlugin):
    """An installed plugin; its `bind` may be async."""

    name = "Offered"

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return SUCCESS


@pytest.mark.parametrize(
    ("loaded", "problem"),
    [
        pytest.param(ImportError("no CUDA"), "ImportError: no CUDA", id="it cannot be imported"),
        pytest.param(5, "5 is no subclass of kubesched.scheduler.framework.Plugin", id="it is no plugin"),
    ],
)
def test_an_installed_plugin_counts_only_if_it_is_named(
    monkeypatch: pytest.MonkeyPatch, loaded: object, problem: str
) -> None:
    """A broken package that nobody asked for keeps no scheduler from starting."""
    entries = [Entry("Offered", Offered), Entry("Broken", loaded)]
    monkeypatch.setattr("kubesched.scheduler.plugin_loading.entry_points", lambda group: entries)
    _, found = load_plugins(load_config(HEAD + "      - name: Offered\n"))
    assert found == {"Offered": Offered}
    with pytest.raises(ConfigurationError) as caught:
        load_plugins(load_config(HEAD + "      - name: Broken\n"))
    assert str(caught.value).startswith(f"plugin Broken (installed as package.module:Class): {problem}")


def test_installed_packages_are_not_looked_through_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than all else at the start; thousands of simulations would feel it."""

    def entry_points(group: str) -> list[Entry]:
        raise AssertionError("nobody asked for them")

    monkeypatch.setattr("kubesched.scheduler.plugin_loading.entry_points", entry_points)
    assert load_plugins(load_config(HEAD + "      - name: ImageLocality\n"))[1] == {}
