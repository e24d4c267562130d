"""Pods of a group that use the same claim: the devices that the first of them gets are those of all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesched.config import FeatureGates
from kubesched.config.versions import Version
from kubesched.objects import Pod, ResourceClaim
from kubesched.testing import (
    make_device_class,
    make_node,
    make_pod,
    make_pod_group,
    make_resource_claim,
    make_resource_slice,
)

GANG = FeatureGates({"GenericWorkload": True})


def member(name: str, *claims: str, group: str = "group", **pod: Any) -> Pod:
    used = [{"name": claim, "resourceClaimName": claim} for claim in claims]
    return make_pod(name, group=group, spec={"resourceClaims": used}, **pod)


def claim_of(bench: Any, name: str = "claim") -> ResourceClaim:
    found: ResourceClaim = bench.parts.objects.of(ResourceClaim).get(name, "default")
    return found


def devices_of(claim: ResourceClaim) -> list[str]:
    return [result.device for result in claim.status.allocation.devices.results] if claim.status.allocation else []


@pytest.mark.parametrize("min_count", [2, None], ids=["a gang", "a group that is no gang"])
async def test_pods_of_a_group_share_a_claim(new_bench: Any, min_count: int | None) -> None:
    """All are bound at the first attempt, to the node that has the device, whatever speaks for another."""
    bench = new_bench(gates=GANG)
    bench.add(make_node("small", cpu="4"), make_node("large", cpu="64"), make_device_class())
    bench.add(make_resource_slice(node="small", devices=("x", "y")), make_resource_claim())
    bench.add(make_pod_group(min_count=min_count), *(member(f"p{k}", "claim", cpu="100m") for k in range(5)))
    await bench.schedule()
    assert bench.places() == {f"p{k}": "small" for k in range(5)}
    assert bench.notes("FailedScheduling") == []
    claim = claim_of(bench)
    assert devices_of(claim) == ["x"]
    assert sorted(consumer.name for consumer in claim.status.reserved_for) == [f"p{k}" for k in range(5)]


async def test_each_claim_keeps_its_own_devices(new_bench: Any) -> None:
    """A pod's own claim beside the shared one, in whichever order it names them."""
    bench = new_bench(gates=GANG)
    bench.add(make_node("n"), make_device_class(), make_pod_group(min_count=3))
    bench.add(make_resource_slice(node="n", devices=("w", "x", "y", "z")))
    bench.add(*(make_resource_claim(name, requests=_request(name)) for name in ("claim", "of-p0", "of-p1", "of-p2")))
    bench.add(member("p0", "claim", "of-p0"), member("p1", "claim", "of-p1"), member("p2", "of-p2", "claim"))
    await bench.schedule()
    assert set(bench.places().values()) == {"n"}
    for name, device in {"claim": "w", "of-p0": "x", "of-p1": "y", "of-p2": "z"}.items():
        allocation = claim_of(bench, name).status.allocation
        assert allocation is not None
        assert [(result.request, result.device) for result in allocation.devices.results] == [(name, device)]


def _request(name: str) -> list[dict[str, Any]]:
    return [{"name": name, "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]


async def test_a_pod_that_cannot_be_where_the_device_is(new_bench: Any) -> None:
    """The gang stays out as a whole, nothing is held, and the others hear of it."""
    bench = new_bench(gates=GANG)
    bench.add(make_node("n", cpu="1"), make_node("m"), make_device_class(), make_pod_group(min_count=2))
    bench.add(make_resource_slice(node="n", devices=("x",)), make_resource_claim())
    bench.add(member("p0", "claim", cpu="1"), member("p1", "claim", cpu="1"))
    await bench.schedule()
    assert [bench.pod(name).spec.node_name for name in ("p0", "p1")] == ["", ""]
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node."
    assert [note for note in bench.notes("FailedScheduling") if note.startswith(message)] != []
    assert claim_of(bench).status.allocation is None
    bench.handlers.update(make_node("n", cpu="1"), make_node("n", cpu="2"))
    await bench.schedule(after=60)
    assert bench.places() == {"p0": "n", "p1": "n"}


async def test_another_group_waits_until_the_allocation_is_written(new_bench: Any) -> None:
    """Only pods that are tried together share what is not written yet."""
    bench = new_bench(gates=GANG)
    bench.add(make_node("n"), make_device_class(), make_pod_group(), make_pod_group("other"))
    bench.add(make_resource_slice(node="n", devices=("x",)), make_resource_claim())
    bench.api.claims_held = asyncio.Event()
    bench.add(member("p0", "claim"), member("q0", "claim", group="other"))
    scheduling = asyncio.create_task(bench.schedule())
    for _ in range(50):
        await asyncio.sleep(0)
    assert "resource claim default/claim is in the process of being allocated" in bench.notes("FailedScheduling")[0]
    bench.api.claims_held.set()
    await scheduling
    await bench.schedule(after=60)
    assert bench.places() == {"p0": "n", "q0": "n"}


async def test_a_pod_that_is_not_bound_leaves_the_device_to_the_others(new_bench: Any) -> None:
    """And gets it itself as soon as it can be bound."""
    bench = new_bench(gates=GANG)
    bench.add(make_node("n"), make_device_class(), make_pod_group(min_count=2))
    bench.add(make_resource_slice(node="n", devices=("x",)), make_resource_claim())
    bench.api.errors["p0"] = ValueError("refused")
    bench.add(member("p0", "claim"), member("p1", "claim"))
    await bench.schedule()
    assert bench.pod("p1").spec.node_name == "n"
    assert [consumer.name for consumer in claim_of(bench).status.reserved_for] == ["p1"]
    del bench.api.errors["p0"]
    await bench.schedule(after=60)
    assert bench.places() == {"p0": "n", "p1": "n"}
    assert [consumer.name for consumer in claim_of(bench).status.reserved_for] == ["p1", "p0"]


GROUP_CLAIMS = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}


async def test_a_claim_of_the_group_is_reserved_once(new_bench: Any) -> None:
    """For all of its pods, also for those that come later."""
    bench = new_bench(gates=FeatureGates(GROUP_CLAIMS))
    entry = {"name": "claim", "resourceClaimName": "claim"}
    bench.add(make_node("n"), make_device_class(), make_pod_group(min_count=2, spec={"resourceClaims": [entry]}))
    bench.add(make_resource_slice(node="n", devices=("x",)), make_resource_claim())
    bench.add(member("p0", "claim"), member("p1", "claim"))
    await bench.schedule()
    bench.add(member("late", "claim"))
    await bench.schedule()
    assert bench.places() == {"p0": "n", "p1": "n", "late": "n"}
    consumers = claim_of(bench).status.reserved_for
    assert [(consumer.resource, consumer.name) for consumer in consumers] == [("podgroups", "group")]


@pytest.mark.parametrize("version", [Version(1, 36), Version(1, 37)], ids=str)
async def test_a_group_whose_devices_are_out_of_reach_gets_others(new_bench: Any, version: Version) -> None:
    """In 1.36, it first gives up its reservation, then the devices, then it looks for new ones: attempt by attempt.
    Since 1.37 it gives up what none but the group has at once.
    """
    gang = {"GangScheduling": True} if version < Version(1, 37) else {}
    bench = new_bench(gates=FeatureGates({**GROUP_CLAIMS, **gang}, version=version))
    entry = {"name": "claim", "resourceClaimName": "claim"}
    bench.add(make_node("n"), make_device_class(), make_pod_group(min_count=2, spec={"resourceClaims": [entry]}))
    bench.add(make_resource_slice(node="n", devices=("x",)))
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
    result = {"request": "req", "driver": "gpu.example.com", "pool": "gone", "device": "x"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": "default/group"}
    bench.add(make_resource_claim(allocation=allocation, reserved_for=[group]))
    bench.add(member("p0", "claim"), member("p1", "claim"))
    for _ in range(3 if gang else 2):
        await bench.schedule(after=60)
    assert bench.places() == {"p0": "n", "p1": "n"}
    assert [consumer.resource for consumer in claim_of(bench).status.reserved_for] == ["podgroups"]
    if not gang:
        return
    unavailable = "0/1 nodes are available: 1 resourceclaim not available on the node."
    notes = bench.notes("FailedScheduling")
    assert f"{unavailable} ResourceClaim unreserved for PodGroup" in notes
    assert any(note.startswith(f"{unavailable} deallocation of ResourceClaim completed") for note in notes)


async def test_a_claim_of_the_group_that_takes_resources_from_the_node(new_bench: Any) -> None:
    """It is for one pod of the group per node: another one that comes later hears so."""
    bench = new_bench(gates=FeatureGates({**GROUP_CLAIMS, "DRANodeAllocatableResources": True}))
    entry = {"name": "claim", "resourceClaimName": "claim"}
    mapped = {"name": "x", "nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "2"}}}
    bench.add(make_node("n"), make_device_class(), make_pod_group(spec={"resourceClaims": [entry]}))
    bench.add(make_resource_slice(node="n", devices=(mapped,)), make_resource_claim())
    container = {"name": "main", "resources": {"claims": [{"name": "claim"}]}}
    for name in ("p0", "p1"):
        bench.add(make_pod(name, group="group", spec={"containers": [container], "resourceClaims": [entry]}))
        await bench.schedule()
    assert bench.pod("p0").spec.node_name == "n"
    (note,) = bench.notes("FailedScheduling")
    assert "1 node allocatable resource claim claim is already used by another pod" in note
