"""A new plugin: a folder with a class, its tests, a configuration and a README, all of which work."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import Final

from kubesched.errors import ConfigurationError

KINDS: Final = ("filter", "score")

FILTER: Final = '''\
"""$words: a filter for kubesched."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kubesched.framework import CycleState, DependsOn, FilterPlugin, Handle, NodeInfo, PodTemplate, Status
from kubesched.objects import Pod


class $name(FilterPlugin):
    """Nodes with a label take no new pods. Write here what yours does."""

    name = "$name"
    depends_on = DependsOn.NODE  # of the node: its labels. kubesched plugin check finds out if that is not true

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        self._label = (args or {}).get("label", "example.com/$dashed")

    def signature(self, pod: PodTemplate) -> Hashable:
        """What of the pod the answer depends on: nothing."""
        return "any pod"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unresolvable(f"node(s) have the label {self._label}") if self._label in node.labels else None
'''
SCORE: Final = '''\
"""$words: a score for kubesched."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kubesched.framework import CycleState, DependsOn, Handle, NodeInfo, PodTemplate, ScorePlugin
from kubesched.objects import Pod


class $name(ScorePlugin):
    """Nodes with a label are better. Write here what yours does."""

    name = "$name"
    depends_on = DependsOn.NODE  # of the node: its labels. kubesched plugin check finds out if that is not true

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        self._label = (args or {}).get("label", "example.com/$dashed")

    def signature(self, pod: PodTemplate) -> Hashable:
        """What of the pod the answer depends on: nothing."""
        return "any pod"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if self._label in node.labels else 0
'''
FILTER_TEST: Final = """
def test_nodes_with_the_label_take_no_pods() -> None:
    with Simulation(CONFIG) as simulation:
        simulation.add(make_node("a", labels={LABEL: "yes"}), make_pod("p"))
        assert simulation.schedule() == {"default/p": None}
        simulation.add(make_node("b"))
        assert simulation.advance(5) == {"default/p": "b"}
"""
SCORE_TEST: Final = """
def test_nodes_with_the_label_are_better() -> None:
    with Simulation(CONFIG) as simulation:
        simulation.add(make_node("a"), make_node("b", labels={LABEL: "yes"}), make_node("c"), make_pod("p"))
        assert simulation.schedule() == {"default/p": "b"}
"""
TEST: Final = '''\
"""Tests of $name: with its configuration in a simulated cluster, and of its promises on random ones."""

from __future__ import annotations

from pathlib import Path

from $module import $name

from kubesched import Simulation
from kubesched.testing import check_promises, make_node, make_pod

CONFIG = Path(__file__).with_name("scheduler.yaml")
LABEL = "example.com/$dashed"

$own_test

def test_it_keeps_its_promises() -> None:
    check_promises($name)
'''
CONFIGURATION: Final = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: $module:$name
        weight: 10
  pluginConfig:
  - name: $module:$name
    args:
      label: example.com/$dashed
"""
PROJECT: Final = """\
[project]
name = "$dashed"
version = "0.1.0"
description = "$words: a plugin for kubesched"
requires-python = ">=3.11"
dependencies = ["kubesched"]

# Installed, configurations name it as $name.
[project.entry-points."kubesched.plugins"]
$name = "$module:$name"

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
include = ["$module.py"]
"""
README: Final = """\
# $name

What it does, for whom, and which labels, annotations or objects it looks at.

    python -m pytest                                     # its tests
    kubesched plugin check $module:$name --config scheduler.yaml      # are its claims true? On random clusters
    kubesched plugin profile $module:$name --config scheduler.yaml    # what does it cost?
    kubesched up --config scheduler.yaml --reload        # a cluster with it; changes are taken up while it runs
    kubesched run --config scheduler.yaml                # in a real cluster
"""


def begin(name: str, kind: str, parent: Path) -> list[Path]:
    """Write a new plugin's folder; the files. ConfigurationError if the name is none, or the folder exists."""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    if not words or not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*", name):
        raise ConfigurationError([f"{name!r} cannot be the name of a plugin: write it as PreferGreen or prefer-green"])
    if kind not in KINDS:
        raise ConfigurationError([f"--kind must be one of {', '.join(KINDS)}, not {kind!r}"])
    lower = [word.lower() for word in words]
    values = {
        "name": name if name[0].isupper() and name.isalnum() else "".join(word.capitalize() for word in lower),
        "module": "_".join(lower),
        "dashed": "-".join(lower),
        "words": " ".join(lower).capitalize(),
        "own_test": FILTER_TEST if kind == "filter" else SCORE_TEST,
    }
    folder = parent / values["dashed"]
    if folder.exists():
        raise ConfigurationError([f"{folder} exists already"])
    texts = {
        f"{values['module']}.py": FILTER if kind == "filter" else SCORE,
        f"test_{values['module']}.py": TEST,
        "scheduler.yaml": CONFIGURATION,
        "pyproject.toml": PROJECT,
        "README.md": README,
    }
    try:
        folder.mkdir(parents=True)
        for file, text in texts.items():
            (folder / file).write_text(Template(text).substitute(values))
    except OSError as error:
        raise ConfigurationError([f"{folder}: {error.strerror}"]) from error
    return [folder / file for file in texts]
