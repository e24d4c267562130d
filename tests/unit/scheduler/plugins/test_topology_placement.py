from __future__ import annotations

import pytest

from kubesched.objects import PodGroup
from kubesched.scheduler.framework import Code, Placement, PodGroupInfo
from kubesched.scheduler.plugins.topology_placement import TopologyPlacementGenerator
from kubesched.testing import make_node, make_pod, make_pod_group
from kubesched.testing.handle import FakeHandle

BY_RACK = make_pod_group(spec={"schedulingConstraints": {"topology": [{"key": "rack"}]}})
GROUP = PodGroupInfo("default", "group")


def cluster(group: PodGroup | None, *scheduled: str) -> FakeHandle:
    """Two racks with two nodes each and a node without a rack; pods of the group are on the nodes named."""
    handle = FakeHandle()
    for k in range(4):
        handle.load(make_node(f"n{k}", labels={"rack": f"r{k // 2}"}))
    handle.load(make_node("elsewhere"))
    if group is not None:
        handle.load(group)
    for k, node in enumerate(scheduled):
        pod = make_pod(f"p{k}", node=node, group="group")
        handle.load(pod)
        handle.pod_groups.assign(handle.cluster.templates.info(pod))
    return handle


def generate(handle: FakeHandle) -> tuple[dict[str, list[str]], Code, str]:
    everywhere = Placement("", handle.cluster.view())
    placements, status = TopologyPlacementGenerator(None, handle).generate_placements(GROUP, everywhere)
    names = {p.name: [p.nodes.name(k) for k in range(len(p.nodes))] for p in placements}
    return names, status.code, status.message


def test_one_placement_per_domain() -> None:
    """Nodes without the label are in none."""
    assert generate(cluster(BY_RACK)) == ({"r0": ["n0", "n1"], "r1": ["n2", "n3"]}, Code.SUCCESS, "")


def test_pods_that_have_a_node_decide() -> None:
    """The rest of the group follows them."""
    assert generate(cluster(BY_RACK, "n2", "n3"))[0] == {"r1": ["n2", "n3"]}


def test_a_group_without_a_constraint_goes_anywhere() -> None:
    """The whole cluster is one placement."""
    assert list(generate(cluster(make_pod_group()))[0]) == [""]


@pytest.mark.parametrize(
    ("group", "scheduled", "message"),
    [
        pytest.param(None, [], 'podgroup.scheduling.k8s.io "group" not found', id="the group is gone"),
        pytest.param(
            BY_RACK,
            ["n0", "n3"],
            "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: r0, r1",
            id="its pods are in two domains",
        ),
        pytest.param(
            BY_RACK,
            ["elsewhere"],
            "cannot determine domain for already scheduled pods: no topology domain found for pod default/p0",
            id="its pods are in no domain",
        ),
        pytest.param(
            BY_RACK,
            ["gone"],
            "cannot determine domain for already scheduled pods: getting node for pod default/p0: "
            'nodeinfo not found for node name "gone"',
            id="its pods' node is gone",
        ),
    ],
)
def test_errors(group: PodGroup | None, scheduled: list[str], message: str) -> None:
    """Something is wrong with the group, not with the nodes."""
    assert generate(cluster(group, *scheduled)) == ({}, Code.ERROR, message)
