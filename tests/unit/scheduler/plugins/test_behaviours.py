"""What changed between versions without a gate, on both sides: each line of config/behaviours.py with an example."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kubesched import Simulation
from kubesched.config import FeatureGates, behaviours
from kubesched.config.behaviours import BEHAVIOURS, Behaviour
from kubesched.config.default_plugins import default_plugins
from kubesched.config.versions import Version
from kubesched.objects import DeviceTaintRule, Namespace, PodDisruptionBudget, ResourceClaim, ResourceSlice, convert
from kubesched.objects.dra import DeviceClaimConfiguration
from kubesched.objects.pod_resources import scheduled_usage
from kubesched.scheduler.build import resource_features
from kubesched.scheduler.framework import Action, ClusterEvent, CycleState, Diagnosis, ObjectStores, Resource
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.dynamic_resources import DynamicResources
from kubesched.scheduler.plugins.dynamic_resources.features import DeviceFeatures
from kubesched.scheduler.plugins.gang_scheduling import GangScheduling
from kubesched.scheduler.plugins.image_locality import ImageLocality
from kubesched.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker
from kubesched.scheduler.scheduling.device_taint_rules import TaintedSlices
from kubesched.testing import (
    make_device_class,
    make_device_taint_rule,
    make_node,
    make_pdb,
    make_pod,
    make_resource_claim,
    make_resource_slice,
)
from kubesched.testing.handle import FakeHandle, ask

HOST = "kubernetes.io/hostname"
MB = 1 << 20
DRIVER = "gpu.example.com"
SHARE = "00000000-0000-4000-8000-000000000001"


def test_every_behaviour_has_an_example() -> None:
    """A line without one would be a wish."""
    assert {behaviour for behaviour, *_ in EXAMPLES} == set(BEHAVIOURS)


def rule_without_selector(gates: FeatureGates) -> Any:
    """How many taints a device gets."""
    objects = ObjectStores()
    parts = TaintedSlices(objects, need_selector=gates.follows(behaviours.RULES_NEED_A_SELECTOR))
    objects.of(DeviceTaintRule).set(make_device_taint_rule())
    _, seen = parts.change(None, slices("x"))
    return len(seen.spec.devices[0].taints)


def list_constraints(gates: FeatureGates) -> Any:
    """What comes of it is in test_dynamic_resources_lists."""
    return DeviceFeatures.of(gates.altered({"DRAListTypeAttributes": True})).list_constraints


def smaller_gang(gates: FeatureGates) -> Any:
    """Whether a gang of which fewer pods are needed is looked at again; the rest is in test_pod_group_as_one."""
    events = GangScheduling(None, FakeHandle(gates=gates)).events_to_register()
    return any(hint.event == ClusterEvent(Resource.POD_GROUP, Action.UPDATE) for hint in events)


def node_checks(gates: FeatureGates) -> Any:
    names = [plugin.name for plugin in default_plugins(gates).multi_point.enabled]
    return names.index("NodeName") < names.index("NodeUnschedulable")


def image_volumes(gates: FeatureGates) -> Any:
    handle = FakeHandle(gates=gates).load(make_node("n", images={"app:1": 1000 * MB}))
    pod = make_pod(image="app:1", volumes=[{"name": "v", "image": {"reference": "data:1"}}])
    return ask(ImageLocality(None, handle), pod, handle.cluster).scores


def affine(**term: Any) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOST, **term}


def namespace_selector(gates: FeatureGates) -> Any:
    scope = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    other = convert({"metadata": {"name": "other", "labels": {"team": "a"}}}, Namespace)
    web = make_pod("web", node="n", namespace="other", labels={"app": "web"})
    handle = FakeHandle(gates=gates).load(make_node("n"), other, web)
    terms = [affine(namespaceSelector=scope)]
    pod = make_pod(spec={"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
    return ask(InterPodAffinity(None, handle), pod, handle.cluster).statuses["n"].is_success


def anti_affinity_hint(gates: FeatureGates) -> Any:
    handle = FakeHandle(gates=gates)
    terms = [affine(), affine(labelSelector={"matchLabels": {"app": "db"}})]
    waiting = make_pod(
        spec={"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    )
    after_add_or_delete = InterPodAffinity(None, handle).events_to_register()[0]
    assert after_add_or_delete.hint is not None
    gone = make_pod("gone", node="n", labels={"app": "web"})
    return str(after_add_or_delete.hint(handle.cluster.templates.info(waiting), gone, None))


def claim_post_filter(gates: FeatureGates) -> Any:
    handle = FakeHandle(gates=gates)
    plugin, info = DynamicResources(None, handle), handle.cluster.templates.info(make_pod())
    state = CycleState(info)
    plugin.pre_filter(state, info, handle.cluster.view())
    return asyncio.run(plugin.post_filter(state, info, Diagnosis()))[1].message


def preemption_message(gates: FeatureGates) -> Any:
    with Simulation(feature_gates=gates) as simulation:
        simulation.add(make_node("n", cpu="1"), make_pod("low", cpu="1", node="n"))
        simulation.add(make_pod("high", cpu="1", priority=10))
        preemption = simulation.explain("default/high").preemption
        assert preemption is not None
        return preemption.status.message


def overlapping_budgets(gates: FeatureGates) -> Any:
    handle = FakeHandle(gates=gates).load(
        make_node("n"),
        make_pdb("a", selector={"matchLabels": {"app": "a"}}, disruptions_allowed=0),
        make_pdb("b", selector={"matchLabels": {"tier": "b"}}, disruptions_allowed=1),
        make_pod("both", node="n", labels={"app": "a", "tier": "b"}),
        make_pod("one", node="n", labels={"tier": "b"}),
    )
    first_decides = gates.follows(behaviours.FIRST_BROKEN_BUDGET_DECIDES)
    budgets = Budgets(handle.objects.of(PodDisruptionBudget), first_decides=first_decides)
    return budgets.broken_by(handle.cluster.pods, np.arange(2), np.zeros(2, dtype=np.intp)).tolist()


def resize(gates: FeatureGates) -> Any:
    """One container gives to the other what it no longer needs: 3 and 1 cpu become 1 and 3."""
    containers = [{"name": n, "resources": {"requests": {"cpu": cpu}}} for n, cpu in (("a", "1"), ("b", "3"))]
    statuses = [
        {"name": n, "allocatedResources": {"cpu": cpu}, "resources": {"requests": {"cpu": cpu}}}
        for n, cpu in (("a", "3"), ("b", "1"))
    ]
    pod = make_pod(containers=containers, node="n", status={"containerStatuses": statuses})
    return scheduled_usage(pod, resource_features(gates)).requests["cpu"]


def asked(gates: FeatureGates, claim: ResourceClaim, *objects: Any) -> str:
    handle = FakeHandle(gates=gates).load(make_node("n"), make_node("m"), make_device_class("gpu"), claim, *objects)
    pod = make_pod(spec={"resourceClaims": [{"name": "d", "resourceClaimName": "claim"}]})
    return ask(DynamicResources(None, handle), pod, handle.cluster).statuses["n"].message


def claim(*requests: dict[str, Any], **spec: Any) -> ResourceClaim:
    exact = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    named = [{"name": f"r{k}", "exactly": {**exact, **request}} for k, request in enumerate(requests or ({},))]
    return make_resource_claim(requests=named, **spec)


def slices(*devices: Any) -> ResourceSlice:
    return make_resource_slice("slice-n", node="n", devices=devices)


def part(name: str, node: str, **spec: Any) -> ResourceSlice:
    """One of two slices of a node's pool."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
    whole = {"driver": DRIVER, "pool": pool, "nodeName": node, **spec}
    return convert({"metadata": {"name": name}, "spec": whole}, ResourceSlice)


def numa(name: str, number: int) -> dict[str, Any]:
    return {"name": name, "attributes": {"numa": {"int": number}}}


def distinct(gates: FeatureGates) -> Any:
    """Three devices for one request, the first and the third alike."""
    wanted = claim({"count": 3}, constraints=[{"distinctAttribute": f"{DRIVER}/numa"}])
    return asked(gates, wanted, slices(numa("x", 0), numa("y", 1), numa("z", 0)))


def counted(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "consumesCounters": [{"counterSet": "c", "counters": {"n": {"value": "1"}}}], **more}


COUNTERS = [{"name": "c", "counters": {"n": {"value": "1"}}}]


def shared_device(gates: FeatureGates) -> Any:
    """The only unit of the counter went with the first share."""
    share = {"request": "r0", "driver": DRIVER, "pool": "n", "device": "x", "shareID": SHARE}
    other = make_resource_claim("other", allocation={"devices": {"results": [share]}})
    device = part("devices", "n", devices=[counted("x", allowMultipleAllocations=True)])
    return asked(gates, claim(), device, part("counters", "n", sharedCounters=COUNTERS), other)


def negative_capacity(gates: FeatureGates) -> Any:
    device = {"name": "x", "allowMultipleAllocations": True, "capacity": {"m": {"value": "4"}}}
    return asked(gates, claim({"capacity": {"requests": {"m": "-1"}}}), slices(device))


def all_devices(gates: FeatureGates) -> Any:
    """All devices, one of which has too little left."""
    devices = [{"name": n, "allowMultipleAllocations": True, "capacity": {"m": {"value": "4"}}} for n in ("x", "y")]
    share = {"request": "r0", "driver": DRIVER, "pool": "n", "device": "x", "consumedCapacity": {"m": "4"}}
    share["shareID"] = SHARE
    other = make_resource_claim("other", allocation={"devices": {"results": [share]}})
    wanted = claim({"allocationMode": "All", "count": 0, "capacity": {"requests": {"m": "1"}}})
    return asked(gates, wanted, slices(*devices), other)


def device_errors(gates: FeatureGates) -> Any:
    return asked(gates, claim({"count": 20}, {"count": 20}), slices("x"))


def counters_elsewhere(gates: FeatureGates) -> Any:
    """All devices are wanted; a pool of another node is not complete."""
    elsewhere = part("counters", "m", sharedCounters=COUNTERS)
    return asked(gates, claim({"allocationMode": "All", "count": 0}), slices("x"), elsewhere)


def compatibility_groups(gates: FeatureGates) -> Any:
    uses = [{"counterSet": "c", "counters": {"n": {"value": "1"}}, "compatibilityGroups": ["g"]}]
    devices = part("devices", "n", devices=[{"name": "x", "consumesCounters": uses}])
    return asked(gates, claim(), devices, part("counters", "n", sharedCounters=COUNTERS))


def deleted_claim(gates: FeatureGates) -> Any:
    events = DynamicResources(None, FakeHandle(gates=gates)).events_to_register()
    return any(e.event.resource is Resource.RESOURCE_CLAIM and bool(e.event.action & Action.DELETE) for e in events)


def whole_claim_config(gates: FeatureGates) -> Any:
    """Of a configuration for both requests of a claim."""
    configured = (DeviceClaimConfiguration(requests=("r0", "r1")),)
    handle = FakeHandle(gates=gates).load(make_node("n"), make_device_class("gpu"), slices("x", "y"))
    wanted = claim({}, {})
    handle.load(replace(wanted, spec=replace(wanted.spec, devices=replace(wanted.spec.devices, config=configured))))
    plugin = DynamicResources(None, handle)
    pod = make_pod(spec={"resourceClaims": [{"name": "d", "resourceClaimName": "claim"}]})
    info, nodes = handle.cluster.templates.info(pod), handle.cluster.view()
    state = CycleState(info)
    plugin.pre_filter(state, info, nodes)
    plugin.filter_nodes(state, info.template, nodes)
    assert plugin.reserve(state, pod, "n").is_success
    allocation = ClaimTracker.shared(handle.objects, counts_shares=True).pending("default/claim")
    assert allocation is not None
    return [config.requests for config in allocation.devices.config]


CANNOT = "cannot allocate all claims"
EXAMPLES: list[tuple[Behaviour, Callable[[FeatureGates], Any], Any, Any]] = [
    (behaviours.NODE_CHECKS_PRE_FILTER, node_checks, False, True),
    (behaviours.IMAGE_VOLUMES_COUNT, image_volumes, {"n": 100}, {"n": 49}),
    (behaviours.NAMESPACE_SELECTOR_IS_RESOLVED, namespace_selector, True, False),
    (behaviours.ANY_ANTI_AFFINITY_TERM_WAKES, anti_affinity_hint, "Hint.SKIP", "Hint.QUEUE"),
    (behaviours.SILENT_CLAIM_POST_FILTER, claim_post_filter, "no new claims to deallocate", ""),
    (
        behaviours.PREEMPTION_NAMES_ITS_CHOICE,
        preemption_message,
        "",
        "preemption: found a potential placement for pod on node n, preempting 1 victims",
    ),
    (behaviours.FIRST_BROKEN_BUDGET_DECIDES, overlapping_budgets, [True, True], [True, False]),
    (behaviours.POD_WIDE_RESIZE, resize, 6000, 4000),
    (behaviours.EVERY_DEVICE_IS_DISTINCT, distinct, "", CANNOT),
    (behaviours.SHARED_DEVICES_ARE_IN_USE, shared_device, CANNOT, ""),
    (
        behaviours.CAPACITY_ERRORS_ARE_FATAL,
        negative_capacity,
        "",
        f'claim default/claim, request r0: checking capacity for device {DRIVER}/n/x: capacity "m": capacity value is '
        "negative",
    ),
    (behaviours.ALL_MEANS_ALL_DEVICES, all_devices, "", CANNOT),
    (
        behaviours.DEVICE_ERRORS_NAME_THE_DEVICE,
        device_errors,
        "claim default/claim: number of requested devices 40 exceeds the claim limit of 32",
        "claim default/claim, request r1: adding 20 devices exceeds the claim limit of 32, with 20 already accounted "
        "for",
    ),
    (
        behaviours.COUNTERS_STAY_ON_THEIR_NODES,
        counters_elsewhere,
        f"claim default/claim, request r0: asks for all devices, but resource pool {DRIVER}/m is currently being "
        "updated",
        "",
    ),
    (behaviours.INCOMPATIBLE_SLICES_ARE_IGNORED, compatibility_groups, "", CANNOT),
    (behaviours.WHOLE_CLAIM_CONFIG, whole_claim_config, [("r0", "r1"), ("r0", "r1")], [()]),
    (behaviours.DELETED_CLAIM_WAKES, deleted_claim, False, True),
    (behaviours.RULES_NEED_A_SELECTOR, rule_without_selector, 1, 0),
    (behaviours.CONSTRAINTS_KNOW_LISTS, list_constraints, False, True),
    (behaviours.GROUPS_ARE_DECIDED_AS_ONE, smaller_gang, False, True),
]


@pytest.mark.parametrize(
    ("behaviour", "observe", "before", "since"), EXAMPLES, ids=[behaviour.name for behaviour, *_ in EXAMPLES]
)
def test_both_sides(behaviour: Behaviour, observe: Callable[[FeatureGates], Any], before: Any, since: Any) -> None:
    """What is seen in the version before, and since; and that it is this line alone which makes the difference."""
    old = FeatureGates(version=Version(behaviour.since.major, behaviour.since.minor - 1))
    new = FeatureGates(version=behaviour.since)
    assert observe(old) == before
    assert observe(new) == since
    assert observe(new.altered({}, [behaviour])) == before
