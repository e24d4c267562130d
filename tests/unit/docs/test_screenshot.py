"""The picture of the README is drawn by a tool of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[3]


def test_a_running_cluster_is_drawn(tmp_path: Path) -> None:
    """As it was at that moment, without fonts from elsewhere and without paths of this machine."""
    file = tmp_path / "up.svg"
    command = [sys.executable, str(ROOT / "tools" / "screenshot.py"), str(file), "--demo", "web", "--after", "0.5"]
    subprocess.run(command, check=True, timeout=60)
    drawn = "".join(ElementTree.parse(file).getroot().itertext()).replace("\N{NO-BREAK SPACE}", " ")
    assert " of 5 ready" in drawn
    assert "$PWD/.kubesched/kubeconfig" in drawn
    assert "font-face" not in drawn
    assert str(tmp_path) not in drawn
