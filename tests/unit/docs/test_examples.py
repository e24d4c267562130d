"""The Python of our pages runs, and prints what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def test_the_example_prints_what_the_readme_says() -> None:
    """Code and output stand next to each other in the README; a newcomer copies them."""
    text = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    assert code is not None
    ran = subprocess.run([sys.executable, "-c", code[1]], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == code[2]


def test_the_page_about_plugins_can_be_copied() -> None:
    """Its blocks, one after the other, are a module with tests that pass."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "writing-a-plugin.md").read_text(), re.DOTALL)
    module: dict[str, Any] = {}
    exec("\n".join(blocks), module)
    for name in ("test_green_nodes_win", "test_maintenance_ends", "test_pairs_start_together"):
        module[name]()
    assert module["NoMaintenance"]().name == "NoMaintenance"


def test_the_example_plugins_work() -> None:
    """examples/plugins is what docs/writing-a-plugin.md tells to copy."""
    from kubesched import Simulation
    from kubesched.testing import make_node, make_pod

    with Simulation(ROOT / "examples" / "plugins" / "scheduler.yaml") as simulation:
        simulation.add(
            make_node("green", labels={"example.com/power": "green"}),
            make_node("grey"),
            make_node("closed", labels={"example.com/power": "green", "example.com/maintenance": "yes"}),
            make_pod("p"),
        )
        assert simulation.schedule() == {"default/p": "green"}
        assert "closed: no, node(s) are under maintenance (NoMaintenance)" in simulation.why("default/p")
