"""Devices that stand for resources of the node itself (gate DRANodeAllocatableResources)."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.config import FeatureGates
from kubesched.objects import Node, Pod, ResourceClaim, ResourceSlice, convert
from kubesched.scheduler.plugins.dynamic_resources import DynamicResources
from kubesched.testing import make_node
from kubesched.testing.device_builders import make_device_class, make_resource_claim, make_resource_slice
from kubesched.testing.handle import FakeHandle, ask

ON = FeatureGates({"DRANodeAllocatableResources": True})
WHOLE = {"name": "cpus", "nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "2"}}}
SHARED = {
    "name": "memory",
    "allowMultipleAllocations": True,
    "capacity": {"size": {"value": "8Gi"}},
    "nodeAllocatableResourceMappings": {"memory": {"capacityKey": "size", "allocationMultiplier": "1"}},
}


def slice_of(*devices: Any) -> ResourceSlice:
    return make_resource_slice("n", node="n", devices=devices)


def user(*, cpu: str = "1", refers: bool = True, claim: str = "claim", **spec: Any) -> Pod:
    """A pod whose container asks for cpu itself, and uses a claim."""
    resources = {"requests": {"cpu": cpu}, "claims": [{"name": "c"}] if refers else []}
    manifest = {
        "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
        "spec": {
            "containers": [{"name": "main", "resources": resources}],
            "resourceClaims": [{"name": "c", "resourceClaimName": claim}],
            **spec,
        },
    }
    return convert(manifest, Pod)


def asking(**fields: Any) -> ResourceClaim:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **fields}
    return make_resource_claim(requests=[{"name": "r", "exactly": exactly}])


def answer(node: Node, pod: Pod, *objects: Any, gates: FeatureGates = ON) -> str:
    """Why the node does not take the pod; empty if it does."""
    handle = FakeHandle(gates=gates).load(node, make_device_class("gpu"), *objects)
    status = ask(DynamicResources(None, handle), pod, handle.cluster).statuses["n"]
    return f"{status.code.name}: {status.message}" if not status.is_success else ""


@pytest.mark.parametrize(
    ("cpu", "node_cpu", "problem"),
    [
        pytest.param("1", "3", "", id="just enough"),
        pytest.param("2", "3", "UNRESOLVABLE: Insufficient cpu", id="more than the node ever has"),
    ],
)
def test_a_claim_takes_from_the_node(cpu: str, node_cpu: str, problem: str) -> None:
    """Besides what the containers request."""
    node = make_node("n", cpu=node_cpu)
    assert answer(node, user(cpu=cpu), asking(), slice_of(WHOLE)) == problem
    assert answer(node, user(cpu=cpu), asking(), slice_of(WHOLE), gates=FeatureGates()) == ""


def test_what_others_requested_is_not_there() -> None:
    """Preempting them could help."""
    other = convert(
        {
            "metadata": {"name": "other", "namespace": "default", "uid": "other"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]},
        },
        Pod,
    )
    assert (
        answer(make_node("n", cpu="4"), user(), asking(), slice_of(WHOLE), other) == "UNSCHEDULABLE: Insufficient cpu"
    )


@pytest.mark.parametrize(
    ("pod", "claim", "device", "problem"),
    [
        pytest.param(user(), asking(capacity={"requests": {"size": "3Gi"}}), SHARED, "", id="a share that fits"),
        pytest.param(
            user(),
            asking(capacity={"requests": {"size": "5Gi"}}),
            SHARED,
            "UNRESOLVABLE: Insufficient memory",
            id="a share that does not fit",
        ),
        pytest.param(
            user(refers=False),
            asking(),
            WHOLE,
            "UNRESOLVABLE: claim claim: node-allocatable resource claim not referenced by any container within the pod",
            id="no container uses the claim",
        ),
        pytest.param(
            user(resources={"requests": {"cpu": "2"}}),
            asking(),
            WHOLE,
            "UNRESOLVABLE: pod level request for cpu is insufficient to cover the aggregated container and "
            "node-allocatable DRA requests",
            id="the pod's own request does not cover the claim",
        ),
        pytest.param(
            user(),
            asking(),
            {**SHARED, "allowMultipleAllocations": None},
            "ERROR: claim default/claim, device memory: "
            "ConsumedCapacity is nil, but Capacity key 'size' is set in NodeAllocatableResourceMappings for resource "
            "memory",
            id="a share of a device that is not shared",
        ),
    ],
)
def test_mappings(pod: Pod, claim: ResourceClaim, device: dict[str, Any], problem: str) -> None:
    """A device maps to a fixed amount, or to what is consumed of its capacity."""
    assert answer(make_node("n", cpu="8", memory="4Gi"), pod, claim, slice_of(device)) == problem


@pytest.mark.parametrize(
    ("users", "problem"),
    [
        pytest.param(("pod",), "", id="the pod itself"),
        pytest.param(("a",), "node allocatable resource claim claim is already used by another pod", id="another pod"),
        pytest.param(("a", "b"), "node allocatable resource claim claim shared by multiple pods", id="several pods"),
    ],
)
def test_a_claim_is_not_shared_on_a_node(users: tuple[str, ...], problem: str) -> None:
    """It would be counted twice."""
    taken = [{"resourceClaimName": "claim", "containers": ["main"], "resources": {"cpu": "2"}}]
    others = [
        convert(
            {
                "metadata": {"name": name, "namespace": "default", "uid": name},
                "spec": {"nodeName": "n", "containers": [{"name": "main"}]},
                "status": {"nodeAllocatableResourceClaimStatuses": taken},
            },
            Pod,
        )
        for name in users
    ]
    result = {"request": "r", "driver": "gpu.example.com", "pool": "n", "device": "cpus"}
    reserved = [{"resource": "pods", "name": name, "uid": name} for name in users]
    claim = make_resource_claim(allocation={"devices": {"results": [result]}}, reserved_for=reserved)
    expected = f"UNRESOLVABLE: {problem}" if problem else ""
    assert answer(make_node("n", cpu="8"), user(), claim, slice_of(WHOLE), *others) == expected
