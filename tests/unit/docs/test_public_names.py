"""Examples and pages import public names only: all else may change in any release (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PUBLIC = (
    *("kubesched", "kubesched.framework", "kubesched.objects", "kubesched.planning", "kubesched.testing"),
    *("kubesched.lab", "kubesched.traces"),
    "kubesched.contrib.gpu_sharing",
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def not_public(code: str) -> Iterator[str]:
    """What a piece of Python imports from kubesched without being promised it."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kubesched":
            exported = importlib.import_module(node.module or "").__all__ if node.module in PUBLIC else ()
            yield from (f"{node.module}.{one.name}" for one in node.names if one.name not in exported)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("kubesched.") and one.name not in PUBLIC)


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=lambda page: str(page.relative_to(ROOT)))
def test_only_public_names_are_imported(page: Path) -> None:
    """Whoever copies them must not depend on what we may change."""
    blocks = [page.read_text()] if page.suffix == ".py" else BLOCK.findall(page.read_text())
    assert [name for block in blocks for name in not_public(block)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        pytest.param("from kubesched import Simulation", [], id="the library"),
        pytest.param("from kubesched.objects import Pod", [], id="a kind"),
        pytest.param(
            "from kubesched.scheduler.columns import NodeView", ["kubesched.scheduler.columns.NodeView"], id="a room"
        ),
        pytest.param(
            "from kubesched.framework import SilentPreemption",
            ["kubesched.framework.SilentPreemption"],
            id="not exported",
        ),
        pytest.param("import kubesched.scheduler", ["kubesched.scheduler"], id="a whole room"),
        pytest.param("from kubesched import framework", ["kubesched.framework"], id="a module as a name"),
    ],
)
def test_what_counts_as_public(code: str, found: list[str]) -> None:
    """The test above can fail."""
    assert list(not_public(code)) == found


def test_pages_and_examples_have_code() -> None:
    """Otherwise the first test would look at nothing."""
    assert len(EXAMPLES) >= 4
    assert sum(len(BLOCK.findall(page.read_text())) for page in PAGES) >= 8
