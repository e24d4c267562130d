"""NodeResourcesFit's score of a placement for a whole group."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.config.plugin_args import NodeResourcesFitArgs, ResourceSpec, ScoringStrategy
from kubesched.objects import Node, Pod
from kubesched.scheduler.framework import Placement, PodGroupAssignments, PodGroupInfo
from kubesched.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle

CPU_ONLY = (ResourceSpec("cpu", 1),)
CPU_AND_MEMORY = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))
GPU = "example.com/gpu"


def score(
    nodes: list[Node],
    placed: list[Pod],
    coming: list[Pod],
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY,
    *,
    strategy: str = "LeastAllocated",
    left_out: int = 0,
) -> int:
    """Of all nodes as one placement, for a group of which the last `left_out` pods get no node."""
    handle = FakeHandle().load(*nodes, *placed)
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type=strategy, resources=resources))
    plugin = NodeResourcesFit(args, handle)
    group = PodGroupInfo("default", "g", [handle.cluster.templates.info(pod) for pod in coming])
    proposed = {pod.uid: "n0" for pod in group.pods[: len(group.pods) - left_out]}
    placement = Placement("p", handle.cluster.view())
    return plugin.score_placement(group, PodGroupAssignments(placement, proposed))


def n(k: int, **more: Any) -> Node:
    return make_node(f"n{k}", cpu="4", memory="8Gi", resources=more)


@pytest.mark.parametrize(
    ("nodes", "placed", "coming", "resources", "expected"),
    [
        pytest.param([n(0), n(1)], [], [make_pod("a", cpu="2", memory="4Gi")], CPU_AND_MEMORY, 25, id="sums of nodes"),
        pytest.param(
            [n(0), n(1)],
            [make_pod("x", cpu="2", node="n1")],
            [make_pod("a", cpu="2")],
            CPU_ONLY,
            50,
            id="with what is taken",
        ),
        pytest.param(
            [n(0)], [], [make_pod("a"), make_pod("b")], CPU_ONLY, 5, id="a container without a request counts as 100m"
        ),
        pytest.param(
            [n(0)], [make_pod("x", node="n0")], [make_pod("a", cpu="1")], CPU_ONLY, 27, id="of placed pods, too"
        ),
        pytest.param([n(0)], [], [make_pod("a", cpu="9")], CPU_ONLY, 100, id="more than there is"),
        pytest.param(
            [n(0)],
            [],
            [make_pod("a", cpu="4", memory="2Gi")],
            (ResourceSpec("cpu", 3), ResourceSpec("memory", 1)),
            81,
            id="weights",
        ),
        pytest.param(
            [n(0, **{GPU: "4"})],
            [],
            [make_pod("a", cpu="2")],
            (ResourceSpec("cpu", 1), ResourceSpec(GPU, 1)),
            50,
            id="a resource that nobody requests is left out",
        ),
        pytest.param(
            [n(0, **{GPU: "4"})],
            [make_pod("x", requests={GPU: 3}, node="n0")],
            [make_pod("a", cpu="2")],
            (ResourceSpec("cpu", 1), ResourceSpec(GPU, 1)),
            52,
            id="though a placed pod has some of it (and counts as 100m)",
        ),
        pytest.param(
            [n(0, **{GPU: "4"}), n(1)],
            [make_pod("x", requests={GPU: 1}, node="n1")],
            [make_pod("a", requests={GPU: 2})],
            (ResourceSpec(GPU, 1),),
            50,
            id="a node that has none of it does not count",
        ),
        pytest.param([n(0)], [], [make_pod("a", requests={GPU: 2})], (ResourceSpec(GPU, 1),), 0, id="no node has any"),
    ],
)
def test_the_fuller_the_better(
    nodes: list[Node], placed: list[Pod], coming: list[Pod], resources: tuple[ResourceSpec, ...], expected: int
) -> None:
    """In hundredths of what the nodes have together."""
    assert score(nodes, placed, coming, resources) == expected


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
def test_it_is_always_most_allocated(strategy: str) -> None:
    """Whatever the strategy for single nodes is."""
    assert score([n(0)], [], [make_pod("a", cpu="3")], CPU_ONLY, strategy=strategy) == 75


def test_pods_of_the_group_without_a_node_do_not_count() -> None:
    """A gang may be large enough without them."""
    assert score([n(0)], [], [make_pod("a", cpu="1"), make_pod("b", cpu="1")], CPU_ONLY, left_out=1) == 25
