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
from kubesched.scheduler.plugin_contract import METHODS, suspicious_names
from kubesched.scheduler.plugin_loading import load_plugins

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
            "the class is a FilterPlugin but defines no filter or filter_nodes (mine.py:2)",
            id="a misspelt method",
        ),
        pytest.param(
            "class Mine(PermitPlugin):\n    name = 'M'\n    async def permit(self, state, pod, node_name): ...\n",
            "permit must not be async: nobody awaits it (mine.py:4)",
            id="a method that nobody awaits",
        ),
        pytest.param(
            "class Mine(PreBindPlugin):\n    name = 'M'\n    async def pre_bind(self, *args): ...\n"
            "    async def pre_bind_preflight(self, *args): ...\n",
            "pre_bind_preflight must not be async: nobody awaits it (mine.py:5)",
            id="one method that is awaited and one that is not",
        ),
        pytest.param(
            "class Mine(FilterPlugin):\n    name = 'M'\n    def filter(self, pod, node): ...\n",
            "filter must take (self, state, pod, node), not (self, pod, node) (mine.py:4)",
            id="a parameter is missing",
        ),
        pytest.param(
            "class Mine(ScorePlugin):\n    name = 'M'\n    def score(self, state, pod, node, *, weight): ...\n",
            "score must take (self, state, pod, node), not (self, state, pod, node, weight) (mine.py:4)",
            id="a parameter that nobody gives",
        ),
        pytest.param(
            "class Mine(ScorePlugin):\n    name = 'M'\n    def score(self, *args): ...\n"
            "    def external_version(self): ...\n",
            "external_version must take (self, pod), not (self) (mine.py:5)",
            id="an optional method",
        ),
        pytest.param(
            "class Mine(ScorePlugin):\n    name = 'M'\n    def score(self, *args): ...\n    signature = 'zone'\n",
            "signature must take (self, pod), and is 'zone' (mine.py:2)",
            id="no method",
        ),
        pytest.param(
            "class Mine(ScorePlugin):\n    name = 'M'\n    def score(self, *args): ...\n"
            "    def __init__(self, args): ...\n",
            "__init__ must take (self, args, handle), not (self, args) (mine.py:5)",
            id="a constructor without a handle",
        ),
    ],
)
def test_what_is_wrong_with_a_plugin(folder: Path, source: str, problem: str) -> None:
    """One line that names it."""
    with pytest.raises(ConfigurationError) as caught:
        load(folder, source, "mine:Mine")
    assert caught.value.problems == (f"plugin mine:Mine: {problem}",)


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("def score(self, *everything, **named): ...", id="any arguments"),
        pytest.param("def score(self, state, pod, node, rounding=2): ...", id="more, with defaults"),
        pytest.param("@staticmethod\n    def score(state, pod, node): ...", id="a static method"),
        pytest.param("@classmethod\n    def score(cls, state, pod, node): ...", id="a class method"),
        pytest.param("def score(self, cycle, p, n): ...", id="other names"),
    ],
)
def test_signatures_that_can_be_called(folder: Path, method: str) -> None:
    """The scheduler gives all arguments by position."""
    enabled, _ = load(folder, f"class Mine(ScorePlugin):\n    name = 'M'\n    {method}\n", "mine:Mine")
    assert "M" in enabled


SCORE = "class Mine(ScorePlugin):\n    name = 'M'\n    def score(self, state, pod, node): ...\n"


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        pytest.param(
            "def normalise_scores(self, state, pod, scores): ...",
            ["normalise_scores is not used: is it meant to be normalize_scores? (mine.py:5)"],
            id="a misspelt optional method",
        ),
        pytest.param(
            "depend_on = DependsOn.NODE",
            ["depend_on is not used: is it meant to be depends_on? (mine.py:2)"],
            id="a misspelt attribute",
        ),
        pytest.param(
            "def pre_score(self, state, pod, nodes): ...",
            ["pre_score is not called: the class is no PreScorePlugin (mine.py:5)"],
            id="a point that the class does not serve",
        ),
        pytest.param("def score_node(self, node): ...", [], id="a helper beside the method that it is like"),
        pytest.param("def _external_versions(self): ...", [], id="a private helper"),
        pytest.param("def price(self, node): ...", [], id="a name of its own"),
    ],
)
def test_names_that_look_misspelt(folder: Path, line: str, problems: list[str]) -> None:
    """They keep no scheduler from starting: a helper may have such a name."""
    load(folder, f"{SCORE}    {line}\n", "mine:Mine")
    assert list(suspicious_names(sys.modules["mine"].Mine)) == problems


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
