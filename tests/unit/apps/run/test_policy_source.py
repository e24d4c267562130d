"""Where a policy comes from: loaded again when its files have changed, and not while they are being written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesched.apps.run.policy_source import PolicySource
from kubesched.config import load_config_file
from kubesched.errors import ConfigurationError

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: "sourced_plugin:Own"}]}}}]
"""
PLUGIN = """
from kubesched.framework import ScorePlugin


class Own(ScorePlugin):
    name = "Own"
    number = NUMBER

    def score(self, state, pod, node):
        return self.number
"""


class Files:
    def __init__(self, folder: Path) -> None:
        self.config, self.plugin = folder / "c.yaml", folder / "sourced_plugin.py"
        self.config.write_text(CONFIG)
        self.write(1)
        self.source = PolicySource(load_config_file(self.config), lambda: load_config_file(self.config), folder)
        self.first = self.source.load()

    def write(self, number: int) -> None:
        self.plugin.write_text(PLUGIN.replace("NUMBER", str(number)))


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    yield Files(tmp_path)
    sys.modules.pop("sourced_plugin", None)
    sys.path.remove(str(tmp_path))


def test_nothing_has_changed(files: Files) -> None:
    assert files.source.load_again() is None


def test_a_changed_plugin_is_loaded_once(files: Files) -> None:
    files.write(2)
    loaded = files.source.load_again()
    assert loaded is not None
    assert loaded.plugins["Own"].number == 2  # type: ignore[attr-defined]
    assert files.first.plugins["Own"].number == 1  # type: ignore[attr-defined]
    assert files.source.load_again() is None


def test_a_broken_plugin_is_refused_once_and_can_be_mended(files: Files) -> None:
    files.plugin.write_text("1 / 0")
    with pytest.raises(ConfigurationError, match="ZeroDivisionError"):
        files.source.load_again()
    assert files.source.load_again() is None
    files.write(3)
    loaded = files.source.load_again()
    assert loaded is not None
    assert loaded.plugins["Own"].number == 3  # type: ignore[attr-defined]


def test_files_that_are_being_written_are_left_alone(files: Files) -> None:
    """A look at a file that is half written sees another one than the next look does; a broken one settles, too."""
    assert [files.source.has_settled() for _ in range(3)] == [False, True, True]
    files.write(4)
    assert [files.source.has_settled() for _ in range(2)] == [False, True]
    files.config.write_text("{")
    assert [files.source.has_settled() for _ in range(2)] == [False, True]
