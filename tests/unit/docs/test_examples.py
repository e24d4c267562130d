"""The Python of our pages runs, and prints what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()


def test_the_example_prints_what_the_readme_says() -> None:
    """Code and output stand next to each other in the README; a newcomer copies them."""
    code = re.search(r"```python\n((?:(?!```).)*)```\n\n```\n(.*?)```", README, re.DOTALL)
    assert code is not None
    ran = subprocess.run([sys.executable, "-c", code[1]], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == code[2]


def test_the_policy_of_the_readme_works(tmp_path: Path) -> None:
    """Two files in a folder, as their first lines name them."""
    policy = re.search(r"```python\n(# prefer_green\.py\n.*?)```", README, re.DOTALL)
    config = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert policy is not None
    assert config is not None
    (tmp_path / "prefer_green.py").write_text(policy[1])
    (tmp_path / "scheduler.yaml").write_text(config[1])
    code = (
        "from pathlib import Path\n"
        "from kubesched import Simulation\n"
        "from kubesched.testing import make_node, make_pod\n"
        "with Simulation(Path('scheduler.yaml')) as simulation:\n"
        "    simulation.add(make_node('a'), make_node('b', labels={'example.com/power': 'green'}), make_node('c'))\n"
        "    simulation.add(*(make_pod(f'p{number}') for number in range(5)))\n"
        "    print(set(simulation.schedule().values()))\n"
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "{'b'}\n"


def test_the_page_about_plugins_can_be_copied() -> None:
    """Its blocks, one after the other, are a module with tests that pass."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "writing-a-plugin.md").read_text(), re.DOTALL)
    module: dict[str, Any] = {}
    exec(compile("\n".join(blocks), "page", "exec", dont_inherit=True), module)
    tests = [value for name, value in module.items() if name.startswith("test_")]
    assert len(tests) >= 4
    for test in tests:
        test()
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
