"""What texts point to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [*PAGES, ROOT / "Makefile", ROOT / "pyproject.toml", *sorted((ROOT / "src").rglob("*.py"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of this repository; the world outside is not asked."""
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_pages_that_are_named_exist() -> None:
    """In prose, comments and docstrings."""
    named = {name for file in SOURCES for name in re.findall(r"\bdocs/[\w./-]+\.md\b", file.read_text())}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    assert named
