from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.plugin_args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from kubesched.objects import Pod
from kubesched.objects.pod_resources import balance_score_requests
from kubesched.scheduler.columns import WhatIf
from kubesched.scheduler.framework import FIXED, CycleState, DependsOn, NodeInfo
from kubesched.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kubesched.testing import make_device_class, make_devices_of, make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

GPU = "example.com/gpu"


def plugin_for(handle: FakeHandle, *resources: str) -> NodeResourcesBalancedAllocation:
    specs = tuple(ResourceSpec(name=name) for name in resources or ("cpu", "memory"))
    return NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs(resources=specs), handle)


@pytest.mark.parametrize(
    ("placed", "cpu", "memory", "score"),
    [
        pytest.param({}, "1", "1Gi", 75, id="an even pod on an empty node changes nothing"),
        pytest.param({}, "4", "", 50, id="all cpu and no memory is the worst change"),
        pytest.param({"cpu": "4"}, "", "4Gi", 100, id="what evens out the node is the best change"),
        pytest.param({"cpu": "2"}, "", "1Gi", 81, id="half way"),
        pytest.param({}, "", "", None, id="a pod without requests is not scored"),
    ],
)
def test_score(placed: dict[str, str], cpu: str, memory: str, score: int | None) -> None:
    """On a node with 4 cpus and 4Gi: how the pod changes the balance between the two."""
    handle = FakeHandle().load(make_node("n", cpu="4", memory="4Gi"), make_pod("there", node="n", requests=placed))
    answer = ask(plugin_for(handle), make_pod(cpu=cpu, memory=memory), handle.cluster)
    assert answer.scores == (None if score is None else {"n": score})


def test_a_pod_without_requests_gets_nothing_where_only_score_runs() -> None:
    """A profile may leave out PreScore, which would have skipped it."""
    handle = FakeHandle().load(make_node("n"))
    info = handle.cluster.templates.info(make_pod())
    scores = plugin_for(handle).score_nodes(CycleState(info), info.template, handle.cluster.view())
    assert scores.tolist() == [0]


def test_pod_level_requests_count() -> None:
    """Unlike in the scores of NodeResourcesFit."""
    handle = FakeHandle().load(make_node("n", cpu="4", memory="4Gi"))
    pod = make_pod(spec={"resources": {"requests": {"cpu": "4"}}})
    assert ask(plugin_for(handle), pod, handle.cluster).scores == {"n": 50}


def test_nodes_without_a_resource_are_judged_by_the_others() -> None:
    """One resource alone is always in balance."""
    handle = FakeHandle().load(
        make_node("both", cpu="4", memory="4Gi"),
        make_node("cpu", memory="0"),
        make_node("neither", cpu="0", memory="0"),
    )
    answer = ask(plugin_for(handle), make_pod(cpu="4"), handle.cluster)
    assert answer.scores == {"both": 50, "cpu": 75, "neither": 75}


def test_devices_count_where_they_stand_behind_a_resource() -> None:
    """Half of the cpu and half of the devices, taken or free, is as even as can be; one of eight is not."""
    handle = FakeHandle().load(make_device_class("gpu", extended_resource=GPU))
    for name, devices, taken in (("even", 2, 0), ("busy", 2, 1), ("many", 8, 0), ("none", 0, 0)):
        handle.load(make_node(name, cpu="4"), *make_devices_of(name, devices, taken=taken))
    handle.load(make_node("own", cpu="4", resources={GPU: 2}), *make_devices_of("own", 8))
    answer = ask(plugin_for(handle, "cpu", GPU), make_pod(cpu="2", requests={"cpu": "2", GPU: 1}), handle.cluster)
    assert answer.scores == {"even": 75, "busy": 75, "many": 65, "none": 75, "own": 75}


def test_scores_by_devices_are_not_kept() -> None:
    """Devices are taken while nothing about a node's row changes."""
    handle = FakeHandle()
    plugin, template = (
        plugin_for(handle, "cpu", GPU),
        handle.cluster.templates.info(make_pod(requests={GPU: 1})).template,
    )
    before = plugin.external_version(template)
    assert plugin.score_depends_on_for(template) is DependsOn.NODE_RESOURCES
    handle.load(make_device_class("gpu", extended_resource=GPU))
    assert plugin.external_version(template) != before
    assert plugin.score_depends_on_for(template) is DependsOn.ANYTHING
    assert plugin_for(handle).external_version(template) is FIXED, "nothing that it scores can be devices"


def test_a_pod_that_is_only_supposed_counts() -> None:
    """The evenness without the pod is kept for nodes as they are, not for a "what if"."""
    handle = FakeHandle().load(*[make_node(name, cpu="4", memory="4Gi") for name in ("a", "b")])
    plugin, info = plugin_for(handle), handle.cluster.templates.info(make_pod(memory="4Gi"))
    nodes, state = handle.cluster.view(), CycleState(info)
    assert plugin.score_nodes(state, info.template, nodes).tolist() == [50, 50]
    supposed = WhatIf.added([(1, handle.cluster.templates.info(make_pod("supposed", cpu="4")))])
    assert plugin.score_nodes(state, info.template, nodes.supposing(supposed)).tolist() == [50, 100]


def plain_balance(used: dict[str, int], capacity: dict[str, int]) -> int:
    shares = [min(float(used[name]) / float(capacity[name]), 1.0) for name in capacity]
    deviation = 0.0
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        mean = sum(shares) / len(shares)
        deviation = math.sqrt(sum((share - mean) * (share - mean) for share in shares) / len(shares))
    return int((1 - deviation) * 100)


def plain_score(names: list[str], pod: Pod, node: NodeInfo, devices: tuple[int, int]) -> int:
    requests = balance_score_requests(pod)
    amounts = {name: (node.allocatable.get(name, 0), node.requested.get(name, 0)) for name in names}
    if GPU in names and not amounts[GPU][0]:
        amounts[GPU] = devices
    if not any(requests.get(name) for name in names):
        return 0
    counted = [name for name in names if amounts[name][0] and (name != GPU or requests.get(GPU))]
    capacity = {name: amounts[name][0] for name in counted}
    before = {name: amounts[name][1] for name in counted}
    after = {name: before[name] + requests.get(name, 0) for name in counted}
    return 50 + (50 + plain_balance(after, capacity) - plain_balance(before, capacity)) // 2


AMOUNTS = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.integers(0, 30).map(lambda k: f"{k * 130}m"),
        "memory": st.integers(0, 30).map(lambda k: f"{k * 77}Mi"),
        "ephemeral-storage": st.integers(0, 9).map(lambda k: f"{k}Gi"),
        GPU: st.integers(0, 3),
    },
)


@settings(max_examples=60)
@given(
    nodes=st.lists(st.tuples(AMOUNTS, st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted)), max_size=5),
    placed=st.lists(st.tuples(AMOUNTS, st.integers(0, 4)), max_size=6),
    wanted=AMOUNTS,
    resources=st.lists(st.sampled_from(["cpu", "memory", "ephemeral-storage", GPU]), min_size=1, unique=True),
)
def test_agrees_with_the_plain_rule(
    nodes: list[Any], placed: list[Any], wanted: dict[str, Any], resources: list[str], worlds: Any
) -> None:
    """Over any view, with nodes missing and pods added or gone, the score is what the rule says."""
    handle, devices = FakeHandle().load(make_device_class("gpu", extended_resource=GPU)), {}
    for k, (amounts, (taken, offered)) in enumerate(nodes):
        handle.load(
            make_node(f"n{k}", status={"allocatable": amounts}), *make_devices_of(f"n{k}", offered, taken=taken)
        )
        devices[f"n{k}"] = (offered, taken)
    handle.load(*(make_pod(f"p{k}", node=f"n{n}", requests=amounts) for k, (amounts, n) in enumerate(placed)))
    pod = make_pod(requests=wanted)
    plugin, info = plugin_for(handle, *resources), handle.cluster.templates.info(pod)
    for view, infos in worlds(handle.cluster, make_pod("added", requests=wanted)):
        scores = plugin.score_nodes(CycleState(info), info.template, view)
        for position, node in infos:
            assert scores[position] == plain_score(resources, pod, node, devices[node.name])
