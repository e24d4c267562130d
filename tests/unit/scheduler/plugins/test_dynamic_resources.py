"""DynamicResources: which nodes take a pod with claims, and what events help one that fits nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.config import FeatureGates
from kubesched.config.versions import Version
from kubesched.objects import Pod, ResourceClaim, ResourceSlice, convert, to_builtins
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import CycleState, DependsOn, Diagnosis, Hint, Resource, Status
from kubesched.scheduler.plugins.dynamic_resources import DynamicResources
from kubesched.testing import make_node, make_pod
from kubesched.testing.device_builders import make_device_class, make_resource_claim, make_resource_slice
from kubesched.testing.handle import Answer, FakeHandle, ask

CANNOT = "cannot allocate all claims"


def make_user(claim: str = "claim", **spec: Any) -> Pod:
    """A pod that uses a claim."""
    entry = {"name": "device", "resourceClaimName": claim}
    return convert(
        {
            "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
            "spec": {"containers": [{"name": "c"}], "resourceClaims": [entry], **spec},
        },
        Pod,
    )


def exactly(**fields: Any) -> dict[str, Any]:
    return {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **fields}


def claim_for(**fields: Any) -> ResourceClaim:
    return make_resource_claim(requests=[{"name": "req", "exactly": exactly(**fields)}])


def asked(*objects: Any, pod: Pod | None = None) -> Answer:
    handle = FakeHandle().load(make_node("a", zone="z1"), make_node("b", zone="z2"), make_device_class("gpu"), *objects)
    return ask(DynamicResources(None, handle), pod or make_user(), handle.cluster)


def rejections(answer: Answer) -> dict[str, str]:
    return {name: status.message for name, status in answer.statuses.items() if not status.is_success}


def gpus(node: str, *devices: dict[str, Any] | str, **spec: Any) -> ResourceSlice:
    return make_resource_slice(f"slice-{node}", node=node, devices=devices, **spec)


PARTITIONS = {
    "sharedCounters": [{"name": "memory", "counters": {"gi": {"value": "4"}}}],
}


def partition(name: str, gi: int) -> dict[str, Any]:
    return {"name": name, "consumesCounters": [{"counterSet": "memory", "counters": {"gi": {"value": str(gi)}}}]}


def in_zone(zone: str) -> dict[str, Any]:
    requirement = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def fabric(spec: dict[str, Any], *devices: Any) -> ResourceSlice:
    """Devices that several nodes may use."""
    slice_ = make_resource_slice("fabric", devices=devices)
    return convert({**to_builtins(slice_), "spec": {**_without_all_nodes(slice_), **spec}}, ResourceSlice)


def _without_all_nodes(slice_: ResourceSlice) -> dict[str, Any]:
    return {key: value for key, value in to_builtins(slice_.spec).items() if key != "allNodes"}


def numa(name: str, node: int) -> dict[str, Any]:
    return {"name": name, "attributes": {"numa": {"int": node}}}


def two_requests(constraint: str) -> ResourceClaim:
    requests = [{"name": name, "exactly": exactly()} for name in ("one", "two")]
    return make_resource_claim(requests=requests, constraints=[{constraint: "gpu.example.com/numa"}])


NUMA_0 = 'device.attributes["gpu.example.com"].numa == 0'
OWNED = {"devices": {"results": [{"request": "r", "driver": "gpu.example.com", "pool": "a", "device": "x"}]}}
SHARED = {"name": "nic", "allowMultipleAllocations": True, "capacity": {"bandwidth": {"value": "10"}}}


@pytest.mark.parametrize(
    ("objects", "rejected"),
    [
        pytest.param([make_resource_claim(), fabric({"allNodes": True}, "x")], {}, id="a device that all nodes reach"),
        pytest.param([make_resource_claim(), fabric(in_zone("z1"), "x")], {"b": CANNOT}, id="a device for one zone"),
        pytest.param(
            [
                make_resource_claim(),
                fabric(
                    {"perDeviceNodeSelection": True}, {"name": "x", "nodeName": "b"}, {"name": "y", **in_zone("no")}
                ),
            ],
            {"a": CANNOT},
            id="devices that say themselves which nodes reach them",
        ),
        pytest.param(
            [make_resource_claim(), gpus("a", "x"), make_resource_claim("other", allocation=OWNED)],
            {"a": CANNOT, "b": CANNOT},
            id="a device that somebody has",
        ),
        pytest.param(
            [claim_for(adminAccess=True), gpus("a", "x"), make_resource_claim("other", allocation=OWNED)],
            {"b": CANNOT},
            id="admin access to a device that somebody has",
        ),
        pytest.param(
            [
                two_requests("matchAttribute"),
                gpus("a", numa("x", 0), numa("y", 1)),
                gpus("b", *map(numa, "xy", (1, 1))),
            ],
            {"a": CANNOT},
            id="devices that must share an attribute",
        ),
        pytest.param(
            [two_requests("distinctAttribute"), gpus("a", numa("x", 0), numa("y", 1)), gpus("b", numa("x", 1))],
            {"b": CANNOT},
            id="devices that must differ in an attribute",
        ),
        pytest.param([make_resource_claim(), gpus("a", "x")], {"b": CANNOT}, id="only one node has a device"),
        pytest.param([claim_for(count=2), gpus("a", "x"), gpus("b", "x", "y")], {"a": CANNOT}, id="two devices"),
        pytest.param(
            [claim_for(allocationMode="All"), gpus("a", "x")], {"b": CANNOT}, id="all devices are at least one"
        ),
        pytest.param(
            [make_resource_claim(), gpus("a", "x", slice_count=2), gpus("b", "y")],
            {"a": CANNOT},
            id="a pool that is not complete gives nothing",
        ),
        pytest.param(
            [make_resource_claim(), gpus("a", "x", "x"), gpus("b", "y")],
            {"a": "invalid resource pools were encountered"},
            id="a pool with two devices of one name",
        ),
        pytest.param(
            [claim_for(selectors=[{"cel": {"expression": 'device.driver == "other"'}}]), gpus("a", "x")],
            {"a": CANNOT, "b": CANNOT},
            id="a selector that nothing satisfies",
        ),
        pytest.param(
            [
                make_resource_claim(),
                gpus("a", {"name": "x", "taints": [{"key": "broken", "effect": "NoSchedule"}]}),
                gpus("b", {"name": "x", "taints": [{"key": "broken", "effect": "None"}]}),
            ],
            {"a": CANNOT},
            id="tainted devices",
        ),
        pytest.param(
            [
                claim_for(tolerations=[{"key": "broken", "operator": "Exists"}]),
                gpus("a", {"name": "x", "taints": [{"key": "broken", "effect": "NoSchedule"}]}),
            ],
            {"b": CANNOT},
            id="tolerated taints",
        ),
        pytest.param(
            [
                make_resource_claim(count=2),
                make_resource_slice("counters", pool="p", slice_count=2, spec=PARTITIONS),
                gpus("a", partition("x", 3), partition("y", 2), partition("z", 1), pool="p", slice_count=2),
            ],
            {"b": CANNOT},
            id="partitions that together do not exceed the whole",
        ),
        pytest.param(
            [
                make_resource_claim(count=2),
                make_resource_slice("counters", pool="p", slice_count=2, spec=PARTITIONS),
                gpus("a", partition("x", 3), partition("y", 2), pool="p", slice_count=2),
            ],
            {"a": CANNOT, "b": CANNOT},
            id="partitions that exceed the whole",
        ),
        pytest.param(
            [
                claim_for(capacity={"requests": {"bandwidth": "6"}}),
                make_resource_slice("net", devices=[SHARED]),
                make_resource_claim(
                    "other",
                    allocation={
                        "devices": {
                            "results": [
                                {
                                    "request": "req",
                                    "driver": "gpu.example.com",
                                    "pool": "net",
                                    "device": "nic",
                                    "shareID": "1",
                                    "consumedCapacity": {"bandwidth": "5"},
                                }
                            ]
                        }
                    },
                ),
            ],
            {"a": CANNOT, "b": CANNOT},
            id="a shared device without enough capacity left",
        ),
    ],
)
def test_filter(objects: list[Any], rejected: dict[str, str]) -> None:
    """A node takes the pod if its devices satisfy the pod's claim."""
    assert rejections(asked(*objects)) == rejected


def test_a_broken_selector_is_an_error() -> None:
    """A class that cannot be used aborts the attempt, and says why."""
    objects = (make_resource_claim(device_class="bad"), make_device_class("bad", selectors=["1"]), gpus("a", "x"))
    answer = asked(*objects)
    assert answer.statuses["a"] == Status.failed(
        "class bad: selector #0: CEL compile error: must evaluate to bool or the unknown type, not int"
    ).by("DynamicResources")
    assert rejections(answer)["b"] == CANNOT, "no device there needs the selector"


def test_selectors_are_asked_about_the_devices_of_other_nodes_in_a_slice() -> None:
    """A device that says itself that it is elsewhere may fail the attempt here, as in kube-scheduler."""
    on_a = {"name": "x", "nodeName": "a", "attributes": {"numa": {"int": 0}}}
    slice_ = fabric({"perDeviceNodeSelection": True}, on_a, {"name": "y", "nodeName": "b"})
    everything = {"allocationMode": "All", "selectors": [{"cel": {"expression": NUMA_0}}]}
    answer = asked(claim_for(**everything), slice_)
    problem = (
        "claim default/claim: selector #0 on device gpu.example.com/fabric/y: CEL runtime error: no such key: numa. "
        "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
        "fields"
    )
    assert answer.statuses["a"] == Status.failed(problem).by("DynamicResources")
    first = {"selectors": [{"cel": {"expression": NUMA_0}}]}
    assert "a" not in rejections(asked(claim_for(**first), slice_)), "found before the other one is looked at"


def test_all_devices_and_a_constraint_that_they_break() -> None:
    """With x for the first request, x itself is missing; with z, which is like x, y is the first to be in the way."""
    first = exactly(selectors=[{"cel": {"expression": NUMA_0}}])
    requests = [{"name": "one", "exactly": first}, {"name": "all", "exactly": exactly(allocationMode="All")}]
    claim = make_resource_claim(requests=requests, constraints=[{"matchAttribute": "gpu.example.com/numa"}])
    answer = asked(claim, gpus("a", numa("x", 0), numa("y", 1), numa("z", 0)))
    assert answer.statuses["a"].message == (
        "claim default/claim, request all: cannot add device gpu.example.com/a/y because a claim constraint would not "
        "be satisfied"
    )


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        pytest.param(None, 'could not find ResourceClaim "default/claim"', id="missing"),
        pytest.param(make_resource_claim(deleting=True), 'resourceclaim "claim" is being deleted', id="deleting"),
    ],
)
def test_pre_enqueue(claim: ResourceClaim | None, message: str) -> None:
    """A pod waits outside the queue until its claims can be used."""
    handle = FakeHandle().load(*([claim] if claim is not None else []))
    plugin = DynamicResources(None, handle)
    assert plugin.pre_enqueue(handle.cluster.templates.info(make_user())) == Status.unresolvable(message)


def test_unknown_class() -> None:
    """A missing class rejects the pod before any node is looked at."""
    answer = asked(make_resource_claim(device_class="nope"))
    assert answer.pre_filter == Status.unresolvable("request req: device class nope does not exist")


def test_earlier_entries_of_a_list_score_higher() -> None:
    """Only prioritised lists make a difference among nodes."""
    wanted = [{"name": "big", **exactly(count=2)}, {"name": "small", **exactly()}]
    claim = make_resource_claim(requests=[{"name": "req", "firstAvailable": wanted}])
    assert asked(claim, gpus("a", "x", "y"), gpus("b", "x")).scores == {"a": 100, "b": 87}


def test_allocated_claim_ties_the_pod_to_its_nodes() -> None:
    """An allocated claim can be used from the nodes that its selector names."""
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    allocation = {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    answer = asked(make_resource_claim(allocation=allocation))
    assert rejections(answer) == {"a": "resourceclaim not available on the node"}


def test_extended_resource_backed_by_devices() -> None:
    """Devices provide an extended resource where no device plugin does."""
    pod = make_pod("pod", requests={"example.com/gpu": 1})
    plugin_node = make_node("plugged", resources={"example.com/gpu": 1})
    backing = make_device_class("backing", extended_resource="example.com/gpu")
    answer = asked(plugin_node, backing, gpus("a", "x"), pod=pod)
    assert rejections(answer) == {"b": CANNOT}


def test_reach() -> None:
    """Pods that want no devices are not looked at in every cycle."""
    handle = FakeHandle()
    plugin = DynamicResources(None, handle)
    info = handle.cluster.templates.info
    assert plugin.depends_on_for(info(make_pod("plain")).template) is DependsOn.NODE
    assert plugin.depends_on_for(info(make_user()).template) is DependsOn.ANYTHING
    assert plugin.depends_on_for(info(make_pod("p", requests={"example.com/gpu": 1})).template) is DependsOn.ANYTHING


async def _post_filter(handle: FakeHandle, pod: Pod, *, filtered: bool = True) -> Status:
    plugin = DynamicResources(None, handle)
    info = handle.cluster.templates.info(pod)
    state, nodes = CycleState(info), handle.cluster.view()
    if filtered and plugin.pre_filter(state, info, nodes).is_success:
        plugin.filter_nodes(state, info.template, nodes)
    return (await plugin.post_filter(state, info, Diagnosis()))[1]


async def test_post_filter() -> None:
    """A claim that ties the pod to a node where it does not fit is given back; else there is nothing to do."""
    assert await _post_filter(FakeHandle(), make_pod("plain")) == Status.unschedulable()
    old = FakeHandle(gates=FeatureGates(version=Version(1, 36)))
    assert await _post_filter(old, make_pod("plain")) == Status.unschedulable("no new claims to deallocate")
    assert (await _post_filter(FakeHandle(), make_pod("plain"), filtered=False)).message == "not found"
    field = {"key": "metadata.name", "operator": "In", "values": ["gone"]}
    allocation = {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    handle = FakeHandle().load(make_node("a"), make_resource_claim(allocation=allocation))
    status = await _post_filter(handle, make_user())
    assert status == Status.unschedulable("deallocation of ResourceClaim completed")
    assert handle.api.patches[0][2]["status"] == {"allocation": None, "reservedFor": None, "devices": None}


ALLOCATED = make_resource_claim("other", allocation={"devices": {}})
FREED = make_resource_claim("other")


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(ALLOCATED, FREED, Hint.QUEUE, id="some claim gave its devices back"),
        pytest.param(FREED, ALLOCATED, Hint.SKIP, id="somebody else's claim"),
        pytest.param(None, make_resource_claim(), Hint.QUEUE, id="the pod's claim was created"),
        pytest.param(make_resource_claim(), make_resource_claim(), Hint.SKIP, id="its status did not change"),
        pytest.param(
            make_resource_claim(), make_resource_claim(allocation={"devices": {}}), Hint.QUEUE, id="it was allocated"
        ),
    ],
)
def test_claim_hint(old: ResourceClaim | None, new: ResourceClaim, hint: Hint) -> None:
    """A pod is tried again when a claim changes in a way that may help it."""
    handle = FakeHandle().load(make_resource_claim())
    assert hint_of(handle, Resource.RESOURCE_CLAIM, make_user(), old, new) is hint


def test_no_claim_helps_a_pod_that_lacks_one_of_its_own() -> None:
    """It is out of the question before devices are."""
    assert hint_of(FakeHandle(), Resource.RESOURCE_CLAIM, make_user(), ALLOCATED, FREED) is Hint.SKIP


@pytest.mark.parametrize(
    ("changed", "claims", "hint"),
    [
        pytest.param(make_user(), [make_resource_claim()], Hint.QUEUE, id="its claims are there"),
        pytest.param(make_user(), [], Hint.SKIP, id="a claim is missing still"),
        pytest.param(make_pod("other"), [make_resource_claim()], Hint.SKIP, id="those of another pod are"),
    ],
)
def test_hint_after_the_claims_of_a_pod_were_made(changed: Pod, claims: list[ResourceClaim], hint: Hint) -> None:
    """The controller makes them from templates, and writes their names into the pod's status."""
    handle = FakeHandle().load(*claims)
    assert hint_of(handle, Resource.POD, make_user(), changed, changed) is hint


def hint_of(handle: FakeHandle, resource: Resource, pod: Pod, old: Any, new: Any) -> Hint:
    """What the plugin's hint for events of a kind says."""
    [hint] = [e.hint for e in DynamicResources(None, handle).events_to_register() if e.event.resource is resource]
    assert hint is not None
    return hint(handle.cluster.templates.info(pod), old, new)


def test_pods_of_a_kind_do_not_take_the_same_device() -> None:
    """Once reserved, a device is gone for the next pod, though nothing has been written yet."""
    handle = FakeHandle(api=MemoryApi())  # type: ignore[arg-type]  # another ApiWriter
    handle.load(make_node("a"), make_device_class("gpu"), gpus("a", "x", "y"))
    plugin = DynamicResources(None, handle)
    fits = []
    for name in ("one", "two", "three"):
        handle.load(make_resource_claim(name))
        pod = make_user(name)
        info = PodInfo(pod, handle.cluster.templates.info(pod).template, pod.metadata.uid)
        state, nodes = CycleState(info), handle.cluster.view()
        assert plugin.pre_filter(state, info, nodes).is_success
        verdict = plugin.filter_nodes(state, info.template, nodes)
        fits.append(bool(np.all(verdict.fitting)))
        if fits[-1]:
            assert plugin.reserve(state, info.pod, "a").is_success
    assert fits == [True, True, False]
