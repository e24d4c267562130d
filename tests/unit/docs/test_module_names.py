"""Modules that our pages name exist: whoever renames one renames it there, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMED = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)`")
ROOTS = [ROOT, ROOT / "src", ROOT / "src" / "kubesched", ROOT / "src" / "kubesched" / "scheduler"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_modules_exist(page: Path) -> None:
    """Paths stand there from the repository, from the package, or from the scheduler on."""
    named = NAMED.findall(page.read_text())
    assert [name for name in named if not any((root / name).exists() for root in ROOTS)] == []


def test_the_map_of_a_pods_way_names_its_modules() -> None:
    """Otherwise the test above could not fail for the page that needs it most."""
    assert len(NAMED.findall((ROOT / "docs" / "way-of-a-pod.md").read_text())) >= 12
