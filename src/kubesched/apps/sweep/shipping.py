"""Modules of plugins, sent along to processes that do not have them.

A module that stands beside the configuration file, or anywhere on the path but among installed packages, goes with
what it imports from the same folder. Installed packages must be installed where the runs are done.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

_INSTALLED: Final = tuple(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib"))


class Modules(msgspec.Struct, frozen=True):
    """Python files by their path below a folder."""

    files: dict[str, str] = {}

    @property
    def hash(self) -> str:
        if not self.files:
            return ""
        return hashlib.sha256(msgspec.json.encode(self.files, order="sorted")).hexdigest()[:20]


def modules_for(references: Iterable[str], folder: Path | None) -> Modules:
    """The files of plugins (`module:Class`) that are not installed. One that is not found is left to the loader."""
    files: dict[str, str] = {}
    for reference in sorted(references):
        top = reference.partition(":")[0].partition(".")[0]
        root = _root(top, folder)
        if root is not None:
            _collect(top, root, files)
    return Modules(files)


def _root(top: str, folder: Path | None) -> Path | None:
    """The folder that a module is in; None if it is installed, or not to be found."""
    if folder is not None and _files_of(top, folder):
        return folder
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if found is None or found.origin is None or top == "kubesched":
        return None
    origin = Path(found.origin)
    root = origin.parent.parent if origin.name == "__init__.py" else origin.parent
    return None if any(origin.is_relative_to(place) for place in _INSTALLED) else root


def _collect(top: str, root: Path, files: dict[str, str]) -> None:
    for file in _files_of(top, root):
        name = file.relative_to(root).as_posix()
        if name in files:
            continue
        files[name] = file.read_text(encoding="utf-8")
        for imported in _imports(files[name]):
            if _files_of(imported, root):
                _collect(imported, root, files)


def _files_of(top: str, root: Path) -> list[Path]:
    if (root / top / "__init__.py").is_file():
        return sorted((root / top).rglob("*.py"))
    return [root / f"{top}.py"] if (root / f"{top}.py").is_file() else []


def _imports(code: str) -> Iterator[str]:
    """Top-level names of what a module imports; a module that does not parse is reported when it is loaded."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


class InstalledModules:
    """The modules that a process has installed: those of one experiment at a time.

    A process may do runs of many experiments, and of one whose plugins were edited meanwhile: what was imported from
    other files is forgotten then.
    """

    def __init__(self) -> None:
        self._hash = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def install(self, modules: Modules) -> None:
        """Make them importable, before anything else of the same name. Idempotent."""
        if modules.hash == self._hash:
            return
        if self._folder is not None:
            sys.path.remove(self._folder.name)
            self._forget(Path(self._folder.name))
            self._folder.cleanup()
            self._folder = None
        if modules.files:
            self._folder = tempfile.TemporaryDirectory(prefix="kubesched-plugins-")
            root = Path(self._folder.name)
            for name, text in modules.files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            self._forget(root)
            sys.path.insert(0, str(root))
            importlib.invalidate_caches()
        self._hash = modules.hash

    def _forget(self, root: Path) -> None:
        tops = {path.stem for path in root.iterdir() if path.suffix == ".py" or path.is_dir()}
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[name]
