from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.feature_gates import FeatureGates
from kubesched.config.plugin_args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from kubesched.config.versions import Version
from kubesched.objects import Pod
from kubesched.objects.pod_resources import allocation_score_requests, incoming_requests, scheduled_usage
from kubesched.scheduler.framework import FIXED, Code, CycleState, DependsOn, NodeInfo
from kubesched.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubesched.testing import make_device_class, make_devices_of, make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

GPU = "example.com/gpu"
HUGE = "hugepages-2Mi"
INSUFFICIENT = "Insufficient {}".format


def fit(handle: FakeHandle, **args: Any) -> NodeResourcesFit:
    return NodeResourcesFit(NodeResourcesFitArgs(**args), handle)


@pytest.mark.parametrize(
    ("requests", "code", "reasons"),
    [
        pytest.param({}, Code.SUCCESS, (), id="a pod without requests needs only a place"),
        pytest.param({"cpu": "1", "memory": "2Gi"}, Code.SUCCESS, (), id="what is left suffices exactly"),
        pytest.param({"cpu": "1001m"}, Code.UNSCHEDULABLE, (INSUFFICIENT("cpu"),), id="others took the cpu"),
        pytest.param({"cpu": "5"}, Code.UNRESOLVABLE, (INSUFFICIENT("cpu"),), id="more than the node has at all"),
        pytest.param(
            {"cpu": "2", "memory": "9Gi"},
            Code.UNRESOLVABLE,
            (INSUFFICIENT("cpu"), INSUFFICIENT("memory")),
            id="every reason is given, and one hopeless resource makes the node hopeless",
        ),
        pytest.param(
            {"ephemeral-storage": "2Gi"}, Code.UNRESOLVABLE, (INSUFFICIENT("ephemeral-storage"),), id="no disk"
        ),
        pytest.param({GPU: 1}, Code.SUCCESS, (), id="an extended resource that the node has"),
        pytest.param({GPU: 2}, Code.UNSCHEDULABLE, (INSUFFICIENT(GPU),), id="an extended resource that is taken"),
        pytest.param({HUGE: "4Mi"}, Code.UNRESOLVABLE, (INSUFFICIENT(HUGE),), id="huge pages that the node lacks"),
        pytest.param({"example.com/none": 0}, Code.SUCCESS, (), id="zero of anything is always there"),
    ],
)
def test_filter(requests: Mapping[str, str | int], code: Code, reasons: tuple[str, ...]) -> None:
    """A node must have room for every request, and preemption is worth it only if the empty node would."""
    handle = FakeHandle().load(
        make_node("n", cpu="4", memory="8Gi", resources={GPU: 2}),
        make_pod("there", node="n", cpu="3", memory="6Gi", requests={GPU: 1}),
    )
    status = ask(fit(handle), make_pod(requests=requests), handle.cluster).statuses["n"]
    assert (status.code, status.reasons) == (code, reasons)


def test_a_node_takes_only_so_many_pods() -> None:
    """Places count even for pods without requests, and preemption can free one."""
    handle = FakeHandle().load(make_node("full", pods=1), make_node("none", pods=0), make_pod("there", node="full"))
    answer = ask(fit(handle), make_pod(), handle.cluster)
    for name in ("full", "none"):
        assert (answer.statuses[name].code, answer.statuses[name].reasons) == (Code.UNSCHEDULABLE, ("Too many pods",))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "5"}}}]}, id="an init container"
        ),
        pytest.param({"overhead": {"cpu": "5"}}, id="the overhead"),
        pytest.param({"resources": {"requests": {"cpu": "5"}}}, id="the pod as a whole"),
    ],
)
def test_all_requests_count(spec: dict[str, Any]) -> None:
    """Not only containers ask for resources."""
    handle = FakeHandle().load(make_node("n", cpu="4"))
    status = ask(fit(handle), make_pod(cpu="1", spec=spec), handle.cluster).statuses["n"]
    assert status.reasons == (INSUFFICIENT("cpu"),)


@pytest.mark.parametrize(
    ("args", "fits"),
    [
        pytest.param({}, False, id="nothing ignored"),
        pytest.param({"ignored_resources": (GPU,)}, True, id="the resource ignored"),
        pytest.param({"ignored_resource_groups": ("example.com",)}, True, id="its group ignored"),
        pytest.param({"ignored_resource_groups": ("other.com",)}, False, id="another group ignored"),
        pytest.param({"ignored_resources": ("cpu",)}, False, id="only extended resources can be ignored"),
    ],
)
def test_ignored_resources(args: dict[str, Any], fits: bool) -> None:
    """An extended resource that the configuration names is somebody else's business."""
    handle = FakeHandle().load(make_node("n", cpu="1"))
    requests = {"cpu": "2"} if args.get("ignored_resources") == ("cpu",) else {GPU: 1}
    assert ask(fit(handle, **args), make_pod(requests=requests), handle.cluster).statuses["n"].is_success is fits


@pytest.mark.parametrize("resource", [GPU, "deviceclass.resource.kubernetes.io/gpu"])
def test_resources_behind_a_device_class_are_left_to_it(resource: str) -> None:
    """Where the node has none of the resource, devices may serve it; where it has some, they must suffice."""
    handle = FakeHandle().load(make_node("bare"), make_node("plugin", resources={resource: 1}))
    plugin, pod = fit(handle), make_pod(requests={resource: 2})
    template = handle.cluster.templates.info(pod).template
    before = plugin.external_version(template)
    assert not ask(plugin, pod, handle.cluster).statuses["bare"].is_success
    handle.load(make_device_class("gpu", extended_resource=GPU))
    assert plugin.external_version(template) != before
    statuses = ask(plugin, pod, handle.cluster).statuses
    assert (statuses["bare"].is_success, statuses["plugin"].is_success) == (True, False)


def test_more_resources_than_a_verdict_has_bits() -> None:
    """A pod with very many resources is still rejected where any of them is missing."""
    names = [f"example.com/r{k}" for k in range(70)]
    handle = FakeHandle().load(make_node("n", resources=dict.fromkeys(names[:-1], 5)))
    status = ask(fit(handle), make_pod(requests=dict.fromkeys(names, 1)), handle.cluster).statuses["n"]
    assert status.code is Code.UNRESOLVABLE


# ---- scores ------------------------------------------------------------------------------------------------------

SHAPE = (UtilizationShapePoint(utilization=0, score=0), UtilizationShapePoint(utilization=100, score=10))


def strategy(kind: str, *resources: ResourceSpec) -> ScoringStrategy:
    ratio = RequestedToCapacityRatioParam(shape=SHAPE) if kind == "RequestedToCapacityRatio" else None
    chosen = resources or (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
    return ScoringStrategy(type=kind, resources=chosen, requested_to_capacity_ratio=ratio)


@pytest.mark.parametrize(
    ("chosen", "score"),
    [
        pytest.param(strategy("LeastAllocated"), (50 + 75) // 2, id="least allocated: mean of what is left"),
        pytest.param(strategy("MostAllocated"), (50 + 25) // 2, id="most allocated: mean of what is taken"),
        pytest.param(strategy("RequestedToCapacityRatio"), 38, id="ratio: the mean is rounded, not cut off"),
        pytest.param(
            strategy("LeastAllocated", ResourceSpec(name="cpu", weight=3), ResourceSpec(name="memory")),
            (3 * 50 + 75) // 4,
            id="weights count",
        ),
        pytest.param(
            strategy("MostAllocated", ResourceSpec(name="cpu"), ResourceSpec(name=GPU, weight=9)),
            50,
            id="an extended resource that the pod does not ask for is left out",
        ),
        pytest.param(
            strategy("MostAllocated", ResourceSpec(name="cpu"), ResourceSpec(name="ephemeral-storage")),
            50,
            id="a resource that the node does not have is left out",
        ),
        pytest.param(strategy("LeastAllocated", ResourceSpec(name="ephemeral-storage")), 0, id="nothing to score by"),
    ],
)
def test_strategies(chosen: ScoringStrategy, score: int) -> None:
    """On a node with 4 cpus (1 taken) and 8Gi (1Gi taken), for a pod with 1 cpu and 1Gi."""
    handle = FakeHandle().load(
        make_node("n", cpu="4", memory="8Gi", resources={GPU: 4}), make_pod("there", node="n", cpu="1", memory="1Gi")
    )
    answer = ask(fit(handle, scoring_strategy=chosen), make_pod(cpu="1", memory="1Gi"), handle.cluster)
    assert answer.scores == {"n": score}


def test_scores_count_containers_without_requests_and_ignore_pod_level_ones() -> None:
    """A container without a request counts as 100m and 200Mi; the pod's own total is not read here."""
    handle = FakeHandle().load(make_node("n", cpu="1", memory="2000Mi"), make_pod("there", node="n"))
    pod = make_pod(spec={"resources": {"requests": {"cpu": "700m"}}})
    assert ask(fit(handle), pod, handle.cluster).scores == {"n": 80}


def test_numbers_overflow_as_in_go() -> None:
    """A node with exabytes of memory is scored as kube-scheduler's int64 arithmetic does, alone or among others."""
    handle = FakeHandle().load(make_node("big", cpu="128", memory="8E"), make_node("huge", cpu="1k", memory="1Ei"))
    pod = make_pod(cpu="10", memory="1Pi")
    assert ask(fit(handle), pod, handle.cluster).scores == {"big": 46, "huge": 51}
    alone = FakeHandle().load(make_node("big", cpu="128", memory="8E"))
    assert ask(fit(alone), pod, alone.cluster).scores == {"big": 46}


@pytest.mark.parametrize(
    ("kind", "wanted", "scores"),
    [
        pytest.param(
            "LeastAllocated", 1, {"free": 75, "busy": 25, "own": 50}, id="least allocated: devices that are left"
        ),
        pytest.param(
            "MostAllocated", 1, {"free": 25, "busy": 75, "own": 50}, id="most allocated: devices that are taken"
        ),
        pytest.param("RequestedToCapacityRatio", 2, {"free": 50, "busy": 100, "own": 100}, id="ratio"),
        pytest.param("MostAllocated", 0, dict.fromkeys(("free", "busy", "own", "none"), 0), id="not asked for"),
    ],
)
@pytest.mark.parametrize("resource", [GPU, "deviceclass.resource.kubernetes.io/gpu"])
def test_devices_are_scored_where_they_stand_behind_a_resource(
    kind: str, wanted: int, scores: dict[str, int], resource: str
) -> None:
    """Of four devices none is taken on one node, and two on another; a node's own amount counts for more."""
    handle = FakeHandle().load(make_device_class("gpu", extended_resource=GPU), make_node("none"))
    handle.load(make_node("free"), *make_devices_of("free", 4), make_node("busy"), *make_devices_of("busy", 4, taken=2))
    handle.load(make_node("own", resources={resource: 2}), *make_devices_of("own", 8))
    plugin = fit(handle, scoring_strategy=strategy(kind, ResourceSpec(name=resource)))
    answer = ask(plugin, make_pod(requests={resource: wanted}), handle.cluster)
    assert answer.scores == ({"none": 0} if wanted else {}) | scores


def test_scores_by_devices_are_not_kept() -> None:
    """Devices are taken while nothing about a node's row changes; what nodes have themselves is kept as ever."""
    handle = FakeHandle()
    args = {"scoring_strategy": strategy("MostAllocated", ResourceSpec(name=GPU)), "ignored_resources": (GPU,)}
    plugin, template = fit(handle, **args), handle.cluster.templates.info(make_pod(requests={GPU: 1})).template
    before = plugin.external_version(template)
    assert plugin.score_depends_on_for(template) is DependsOn.NODE_RESOURCES
    handle.load(make_device_class("gpu", extended_resource=GPU))
    assert plugin.external_version(template) != before, "the engine asks again what it depends on"
    assert (plugin.depends_on_for(template), plugin.score_depends_on_for(template)) == (
        DependsOn.NODE_RESOURCES,
        DependsOn.ANYTHING,
    )
    plain = handle.cluster.templates.info(make_pod(cpu="1")).template
    assert (plugin.external_version(plain), plugin.score_depends_on_for(plain)) == (FIXED, DependsOn.NODE_RESOURCES)


def test_devices_are_not_scored_with_the_gate_off() -> None:
    """Without DRAExtendedResource a resource is what nodes say."""
    handle = FakeHandle(gates=FeatureGates({"DRAExtendedResource": False}, version=Version(1, 36)))
    handle.load(make_device_class("gpu", extended_resource=GPU), make_node("n"), *make_devices_of("n", 4))
    args = {"scoring_strategy": strategy("LeastAllocated", ResourceSpec(name=GPU)), "ignored_resources": (GPU,)}
    assert ask(fit(handle, **args), make_pod(requests={GPU: 1}), handle.cluster).scores == {"n": 0}


# ---- against the plain rule --------------------------------------------------------------------------------------


Devices = tuple[int, int]
"""(devices of a node, taken ones); no device can stand behind the resource where there is no class."""


def plain_reasons(pod: Pod, node: NodeInfo, *, by_class: bool) -> set[tuple[str, bool]]:
    reasons = set()
    if len(node.pod_infos) + 1 > node.allowed_pods:
        reasons.add(("Too many pods", False))
    for name, wanted in incoming_requests(pod).items():
        capacity = node.allocatable.get(name, 0)
        if name == GPU and by_class and not capacity:
            continue
        if wanted and wanted > capacity - node.requested.get(name, 0):
            reasons.add((INSUFFICIENT(name), wanted > capacity))
    return reasons


def plain_score(kind: str, specs: tuple[ResourceSpec, ...], pod: Pod, node: NodeInfo, devices: Devices) -> int:
    total = weights = 0
    requests = allocation_score_requests(pod)
    for spec in specs:
        own = node.allocatable.get(spec.name, 0)
        capacity = own or (devices[0] if spec.name == GPU else 0)
        if not capacity or (spec.name == GPU and not requests.get(GPU)):
            continue
        usages = [scheduled_usage(info.pod) for info in node.pod_infos]
        taken = {"cpu": [u.non_zero_cpu for u in usages], "memory": [u.non_zero_memory for u in usages]}.get(
            spec.name, [u.requests.get(spec.name, 0) for u in usages]
        )
        used = min((sum(taken) if own else devices[1]) + requests.get(spec.name, 0), capacity)
        score = (capacity - used) * 100 // capacity if kind == "LeastAllocated" else used * 100 // capacity
        if kind == "RequestedToCapacityRatio" and score == 0:
            continue
        total, weights = total + score * spec.weight, weights + spec.weight
    if not weights:
        return 0
    return int(total / weights + 0.5) if kind == "RequestedToCapacityRatio" else total // weights


AMOUNTS = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.integers(0, 5).map(lambda k: f"{k * 700}m"),
        "memory": st.integers(0, 5).map(lambda k: f"{k * 300}Mi"),
        GPU: st.integers(0, 2),
    },
)
NODES = st.tuples(AMOUNTS, st.integers(0, 3), st.tuples(st.integers(0, 4), st.integers(0, 4)).map(sorted))


@settings(max_examples=60)
@given(
    nodes=st.lists(NODES, max_size=5),
    placed=st.lists(st.tuples(AMOUNTS, st.integers(0, 4)), max_size=8),
    wanted=AMOUNTS,
    kind=st.sampled_from(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]),
    weights=st.tuples(*[st.integers(1, 3)] * 3),
    by_class=st.booleans(),
)
def test_agrees_with_the_plain_rule(
    nodes: list[Any],
    placed: list[Any],
    wanted: dict[str, Any],
    kind: str,
    weights: tuple[int, ...],
    by_class: bool,
    worlds: Any,
) -> None:
    """Over any view, with nodes missing and pods added or gone, filter and score say what the rule says."""
    specs = tuple(ResourceSpec(name=n, weight=w) for n, w in zip(("cpu", "memory", GPU), weights, strict=True))
    handle, devices = FakeHandle(), {}
    for k, (amounts, pods, (taken, offered)) in enumerate(nodes):
        handle.load(make_node(f"n{k}", pods=pods, status={"allocatable": {**amounts, "pods": pods}}))
        handle.load(*make_devices_of(f"n{k}", offered, taken=taken))
        devices[f"n{k}"] = (offered, taken) if by_class else (0, 0)
    if by_class:
        handle.load(make_device_class("gpu", extended_resource=GPU))
    handle.load(*(make_pod(f"p{k}", node=f"n{n}", requests=amounts) for k, (amounts, n) in enumerate(placed)))
    pod = make_pod(requests=wanted)
    plugin = fit(handle, scoring_strategy=strategy(kind, *specs))
    info = handle.cluster.templates.info(pod)
    for view, infos in worlds(handle.cluster, make_pod("added", requests=wanted)):
        verdict = plugin.filter_nodes(CycleState(info), info.template, view)
        scores = plugin.score_nodes(CycleState(info), info.template, view)
        for position, node in infos:
            expected = plain_reasons(pod, node, by_class=by_class)
            status = verdict.status(position, plugin.name)
            assert set(status.reasons) == {message for message, _ in expected}
            assert (status.code is Code.UNRESOLVABLE) == any(hopeless for _, hopeless in expected)
            assert scores[position] == plain_score(kind, specs, pod, node, devices[node.name])
