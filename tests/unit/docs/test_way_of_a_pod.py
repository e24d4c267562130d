"""The map of the pod's way must not lie."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_module_on_the_map_exists() -> None:
    """A module that is renamed is renamed in the documentation, too."""
    text = (ROOT / "docs" / "way-of-a-pod.md").read_text()
    named = re.findall(r"`([a-z_]+/[a-z_/]*[a-z_]+\.py)`", text)
    assert len(named) >= 12
    assert [name for name in named if not (ROOT / "src" / "kubesched" / name).exists()] == []
