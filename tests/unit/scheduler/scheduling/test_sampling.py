"""Looking at a part of the nodes only."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kubesched.scheduler.scheduling.sampling import nodes_to_find
from kubesched.testing import make_node, make_pod


@pytest.mark.parametrize(
    ("percentage", "nodes", "wanted"),
    [
        pytest.param(10, 99, 99, id="few nodes: all"),
        pytest.param(10, 500, 100, id="never fewer than a hundred"),
        pytest.param(30, 1000, 300, id="the percentage"),
        pytest.param(0, 1000, 420, id="adaptive: 50 less one per 125 nodes"),
        pytest.param(0, 6000, 300, id="adaptive: 5 percent at least"),
    ],
)
def test_how_many_feasible_nodes_suffice(percentage: int, nodes: int, wanted: int) -> None:
    """As numFeasibleNodesToFind counts."""
    assert nodes_to_find(percentage, nodes) == wanted


async def test_pods_take_turns_over_the_nodes_and_zones(new_bench: Any) -> None:
    """Each sample starts where the last one stopped, so that no node is left out for ever."""
    bench = new_bench(percentage=50)
    bench.add(*(make_node(f"n{k}", cpu="1", zone="ab"[k % 2]) for k in range(200)))
    for k in range(200):
        bench.add(make_pod(f"p{k}", cpu="1"))
    await bench.schedule()
    assert Counter(bench.places().values()) == Counter(f"n{k}" for k in range(200))


async def test_a_sample_of_few_feasible_nodes_is_all_of_them(new_bench: Any) -> None:
    """However many are looked at."""
    bench = new_bench(percentage=50)
    bench.add(*(make_node(f"n{k}", unschedulable=k != 150) for k in range(200)), make_pod("web"))
    await bench.schedule()
    assert bench.places() == {"web": "n150"}
