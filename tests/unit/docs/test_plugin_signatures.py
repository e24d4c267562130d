"""What docs/writing-a-plugin.md says about `signature`: pods that a plugin does not tell apart share answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.testing import make_node, make_pod

ROOT = Path(__file__).parents[3]
PODS = 40


def hits_and_misses(simulation: Simulation) -> tuple[int, int]:
    """Of pods that differ in one label, which no plugin looks at."""
    with simulation:
        simulation.add(*(make_node(f"n{number}", cpu="64") for number in range(3)))
        simulation.add(*(make_pod(f"p{number}", cpu="1", labels={"run": str(number)}) for number in range(PODS)))
        assert None not in simulation.schedule().values()
        [evaluator] = simulation._assembled.evaluators.values()
        return evaluator.hits, evaluator.misses


def no_maintenance() -> type[Any]:
    """The filter of the page."""
    page = (ROOT / "docs" / "writing-a-plugin.md").read_text()
    block = re.search(r"```python\n((?:(?!```).)*class NoMaintenance.*?)```", page, re.DOTALL)
    assert block is not None
    module: dict[str, Any] = {}
    exec(block[1], module)
    return module["NoMaintenance"]  # type: ignore[no-any-return]


CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: NoMaintenance}]}}
"""


def test_with_a_signature_all_pods_share_answers() -> None:
    """The first pod is evaluated, the others are not."""
    plugins = {"NoMaintenance": no_maintenance()}
    assert hits_and_misses(Simulation(CONFIG, plugins=plugins)) == (PODS - 1, 1)


@pytest.mark.parametrize("config", ["cheapest.yaml", "gpu_nodes.yaml", "scheduler.yaml"])
def test_the_examples_share_answers(config: str) -> None:
    """Each of them declares what it depends on, and of the pod, too."""
    assert hits_and_misses(Simulation(ROOT / "examples" / "plugins" / config)) == (PODS - 1, 1)
