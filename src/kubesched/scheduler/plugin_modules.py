"""The modules of users' plugins: which files they are, and how they are imported again when these have changed."""

from __future__ import annotations

import ast
import importlib
import linecache
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from importlib.util import cache_from_source
from pathlib import Path

Digests = dict[str, bytes]
"""By a module's name: what its file said when it was looked at."""


def user_modules(references: Iterable[str], folder: Path | None) -> dict[str, Path]:
    """The modules that plugins (`module:Class`) consist of, as far as they are imported, with their files.

    These are all modules of their packages, and all that come from the folder of the configuration. What is installed
    (site-packages) is not among them, nor is kubesched itself.
    """
    packages = {reference.partition(":")[0].partition(".")[0] for reference in references}
    found: dict[str, Path] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        top = name.partition(".")[0]
        if not file or not file.endswith(".py") or top == "kubesched" or "site-packages" in file:
            continue
        path = Path(file)
        if top in packages or (folder is not None and path.is_relative_to(folder)):
            found[name] = path
    return found


def digests(modules: dict[str, Path]) -> Digests:
    """What the files say now. One that cannot be read differs from all that it ever said."""
    return {name: _digest(path) for name, path in modules.items()}


@contextmanager
def fresh_modules(modules: dict[str, Path], changed: Iterable[str]) -> Iterator[None]:
    """Inside, the changed modules and those that use them are imported again. If that fails, all is as it was."""
    stale = _with_users(set(changed), modules)
    before = {name: sys.modules[name] for name in stale if name in sys.modules}
    known = set(sys.modules)
    for name in before:
        del sys.modules[name]
        _forget_compiled(modules[name])
    importlib.invalidate_caches()
    linecache.checkcache()
    try:
        yield
    except BaseException:
        for name in set(sys.modules) - known:
            del sys.modules[name]
        sys.modules.update(before)
        raise


def _with_users(changed: set[str], modules: dict[str, Path]) -> set[str]:
    """The changed modules, and those that hold anything of them."""
    stale: set[str] = set()
    while changed:
        stale |= changed
        changed = {name for name in modules.keys() - stale if not _imports_of(name, modules[name]).isdisjoint(stale)}
    return stale


def _imports_of(name: str, file: Path) -> set[str]:
    """The modules that a module's file imports; none if it cannot be read."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def _forget_compiled(file: Path) -> None:
    """Python compares times in seconds: two changes within one would be taken for none."""
    with suppress(OSError, NotImplementedError):
        Path(cache_from_source(str(file))).unlink()


def _digest(path: Path) -> bytes:
    try:
        return blake2b(path.read_bytes()).digest()
    except OSError:
        return b""
