"""Modules of plugins that change on disk: imported again with all that use them, or left as they were."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubesched.scheduler.plugin_modules import digests, fresh_modules, user_modules


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A plugin, what it uses, and a module that has nothing to do with them."""
    (tmp_path / "reloaded_limits.py").write_text("MOST = 1\n")
    (tmp_path / "reloaded_plugin.py").write_text("from reloaded_limits import MOST\n\nclass P:\n    most = MOST\n")
    (tmp_path / "reloaded_other.py").write_text("marker = object()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("reloaded_plugin", "reloaded_other"):
        importlib.import_module(name)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("reloaded_")]:
        del sys.modules[name]


def test_modules_of_the_folder_are_the_users(folder: Path) -> None:
    found = user_modules([], folder)
    assert set(found) == {"reloaded_limits", "reloaded_plugin", "reloaded_other"}
    assert set(user_modules(["reloaded_plugin:P"], None)) == {"reloaded_plugin"}


def test_who_uses_a_changed_module_is_imported_again_too(folder: Path) -> None:
    """A change of the same length within one second is seen, too; others keep their objects."""
    modules = user_modules([], folder)
    before, other = digests(modules), sys.modules["reloaded_other"]
    (folder / "reloaded_limits.py").write_text("MOST = 2\n")
    now = digests(modules)
    changed = [name for name in now if now[name] != before[name]]
    assert changed == ["reloaded_limits"]
    with fresh_modules(modules, changed):
        plugin: Any = importlib.import_module("reloaded_plugin")
    assert plugin.P.most == 2
    assert sys.modules["reloaded_other"] is other


def test_a_broken_version_leaves_all_as_it_was(folder: Path) -> None:
    modules = user_modules([], folder)
    old = sys.modules["reloaded_plugin"]
    (folder / "reloaded_plugin.py").write_text("import reloaded_limits\n1 / 0\n")
    with pytest.raises(ZeroDivisionError), fresh_modules(modules, ["reloaded_plugin", "reloaded_limits"]):
        importlib.import_module("reloaded_plugin")
    assert sys.modules["reloaded_plugin"] is old
    assert sys.modules["reloaded_limits"].MOST == 1
