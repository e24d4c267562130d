"""How many devices of a class each node has, and how many are taken, against the plain rule per node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.feature_gates import FeatureGates
from kubesched.errors import InvalidObjectError
from kubesched.objects import DeviceClass, Node, ResourceClaim, ResourceSlice, convert
from kubesched.objects.dra import Device
from kubesched.objects.node_selectors import compile_node_selector_strictly
from kubesched.scheduler.columns import Journal
from kubesched.scheduler.plugins.support.devices.cel import DeviceFacts, Selector
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker
from kubesched.scheduler.plugins.support.devices.totals import DeviceTotals
from kubesched.testing import make_node
from kubesched.testing.device_builders import make_device_class, make_resource_claim, make_resource_slice
from kubesched.testing.handle import FakeHandle

GPU = "example.com/gpu"
DRIVER = "gpu.example.com"
IS_H100 = f'device.attributes["{DRIVER}"].model == "h100"'
Totals = dict[str, tuple[int, int]]


def counted(totals: DeviceTotals, handle: FakeHandle, resource: str = GPU) -> Totals:
    """Devices and taken ones by node."""
    nodes = handle.cluster.view()
    devices, taken = totals.of(resource, nodes)
    return {nodes.name(k): (int(devices[k]), int(taken[k])) for k in range(len(nodes)) if nodes.exists[k]}


def model(name: str, of: str | None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "attributes": {"model": {"string": of}} if of else {}, **fields}


def on(node: str, *devices: Any, **more: Any) -> ResourceSlice:
    return make_resource_slice(more.pop("name", node), node=node, devices=devices, **more)


def slice_of(where: dict[str, Any], *devices: Any, name: str = "fabric") -> ResourceSlice:
    """Devices for the nodes that `where` tells."""
    spec = {"driver": DRIVER, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}, **where}
    named = [{"name": device} if isinstance(device, str) else device for device in devices]
    return convert({"metadata": {"name": name, "uid": name}, "spec": {**spec, "devices": named}}, ResourceSlice)


def selecting(key: str, operator: str, *values: str) -> dict[str, Any]:
    requirement = {"key": key, "operator": operator, "values": list(values)}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


def in_zone(zone: str) -> dict[str, Any]:
    return selecting("topology.kubernetes.io/zone", "In", zone)


def owner_of(pool: str, *devices: str, claim: str = "owner", **fields: Any) -> ResourceClaim:
    """A claim that has these devices."""
    results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": device, **fields} for device in devices]
    return make_resource_claim(claim, allocation={"devices": {"results": results}})


SHARE: dict[str, Any] = {"shareID": "1", "consumedCapacity": {"memory": "1Gi"}}


@pytest.mark.parametrize(
    ("selectors", "objects", "expected"),
    [
        pytest.param([], [on("a", "x", "y")], {"a": (2, 0), "b": (0, 0)}, id="the devices of a node"),
        pytest.param(
            [], [on("a", "x", "y"), owner_of("a", "x")], {"a": (2, 1), "b": (0, 0)}, id="a device that somebody has"
        ),
        pytest.param(
            [],
            [on("a", "x", "y"), owner_of("a", "x", **SHARE)],
            {"a": (2, 1), "b": (0, 0)},
            id="a share of a device counts as the device",
        ),
        pytest.param(
            [],
            [on("a", "x"), owner_of("a", "x", adminAccess=True)],
            {"a": (1, 0), "b": (0, 0)},
            id="admin access takes nothing",
        ),
        pytest.param(
            [],
            [on("a", "x", "y", generation=2), on("a", "x", "z", name="old", pool="a"), owner_of("a", "x")],
            {"a": (4, 2), "b": (0, 0)},
            id="slices of an outdated pool count, too",
        ),
        pytest.param([], [on("a", "x", slice_count=3)], {"a": (1, 0), "b": (0, 0)}, id="incomplete pools count"),
        pytest.param([], [slice_of({"allNodes": True}, "x")], {"a": (1, 0), "b": (1, 0)}, id="a device for all nodes"),
        pytest.param([], [slice_of({}, "x")], {"a": (1, 0), "b": (1, 0)}, id="a slice that names no node is for all"),
        pytest.param(
            [],
            [slice_of(in_zone("z1"), "x"), owner_of("fabric", "x")],
            {"a": (1, 1), "b": (0, 0)},
            id="devices for the nodes of a zone",
        ),
        pytest.param(
            [],
            [
                slice_of(
                    {"perDeviceNodeSelection": True},
                    {"name": "named", "nodeName": "b"},
                    {"name": "everywhere", "allNodes": True},
                    {"name": "zone", **in_zone("z2")},
                    {"name": "nowhere"},
                ),
                owner_of("fabric", "named"),
            ],
            {"a": (1, 0), "b": (3, 1)},
            id="devices that say themselves where they are",
        ),
        pytest.param(
            [IS_H100],
            [on("a", model("x", "h100"), model("y", "t4")), on("b", model("z", "h100")), owner_of("a", "y")],
            {"a": (1, 0), "b": (1, 0)},
            id="the class selects devices",
        ),
        pytest.param(
            [IS_H100, "!device.allowMultipleAllocations"],
            [on("a", model("x", "h100", allowMultipleAllocations=True))],
            {"a": (1, 0), "b": (0, 0)},
            id="selectors do not see here that a device can be shared",
        ),
        pytest.param(
            [IS_H100],
            [on("a", model("x", "h100"), model("y", None)), on("b", model("z", "h100"))],
            {"a": (0, 0), "b": (1, 0)},
            id="a node with a device that cannot be judged has none",
        ),
        pytest.param(
            ["device.nonsense"], [on("a", "x")], {"a": (0, 0), "b": (0, 0)}, id="a selector that means nothing"
        ),
        pytest.param(
            [],
            [on("a", "x"), slice_of(selecting("zone", "Between", "x"), "y")],
            {"a": (0, 0), "b": (0, 0)},
            id="a node selector that nobody understands leaves nothing to count",
        ),
    ],
)
def test_totals(selectors: list[str], objects: list[Any], expected: Totals) -> None:
    """On two nodes in two zones, of a class that answers to example.com/gpu."""
    nodes = make_node("a", zone="z1"), make_node("b", zone="z2")
    handle = FakeHandle().load(*nodes, make_device_class("gpu", selectors=selectors, extended_resource=GPU), *objects)
    assert counted(DeviceTotals(handle), handle) == expected


def test_without_shares_a_shared_device_is_taken() -> None:
    """With the gate for consumable capacity off, a share is the whole device."""
    gates = FeatureGates({"DRAConsumableCapacity": False})
    objects = make_node("a"), make_device_class("gpu", extended_resource=GPU), on("a", "x"), owner_of("a", "x", **SHARE)
    handle = FakeHandle(gates=gates).load(*objects)
    assert counted(DeviceTotals(handle), handle) == {"a": (1, 1)}


def test_which_resources_mean_devices() -> None:
    """The name in a class's spec, and one made of the class's own name."""
    handle = FakeHandle()
    totals = DeviceTotals.shared(handle)
    assert DeviceTotals.shared(handle) is totals
    before = totals.classes_version
    assert not totals.is_backed_by_devices(GPU)
    handle.load(make_node("a"), on("a", "x"), make_device_class("gpu", extended_resource=GPU))
    assert totals.classes_version != before
    assert totals.is_backed_by_devices(GPU)
    implicit = "deviceclass.resource.kubernetes.io/gpu"
    assert totals.is_backed_by_devices(implicit)
    assert counted(totals, handle, implicit) == counted(totals, handle) == {"a": (1, 0)}
    assert not totals.is_backed_by_devices("deviceclass.resource.kubernetes.io/other")


def test_devices_on_their_way_are_taken() -> None:
    """An allocation counts from Reserve on, and no longer when it is undone."""
    handle = FakeHandle().load(make_node("a"), on("a", "x", "y"), make_device_class("gpu", extended_resource=GPU))
    totals, claim_tracker = DeviceTotals(handle), ClaimTracker.shared(handle.objects, counts_shares=True)
    assert counted(totals, handle) == {"a": (2, 0)}
    claim_tracker.add_pending(owner_of("a", "y"), "pod")
    assert counted(totals, handle) == {"a": (2, 1)}
    claim_tracker.remove_pending("default/owner", "pod")
    assert counted(totals, handle) == {"a": (2, 0)}


# ---- against the plain rule --------------------------------------------------------------------------------------


def is_for(where: Any, node: Node, *, otherwise: bool) -> bool:
    if where.all_nodes:
        return True
    if where.node_name:
        return bool(where.node_name == node.metadata.name)
    if where.node_selector is not None:
        return compile_node_selector_strictly(where.node_selector).matches(node.metadata.labels, node.metadata.name)
    return otherwise


def plain_devices(node: Node, slices: Iterable[ResourceSlice]) -> list[tuple[str, str, Device]]:
    """(driver, pool, device) of all devices that a node reaches."""
    found = []
    for offered in slices:
        spec = offered.spec
        if not spec.per_device_node_selection and not is_for(spec, node, otherwise=True):
            continue
        for device in spec.devices:
            if not spec.per_device_node_selection or is_for(device, node, otherwise=False):
                found.append((spec.driver, spec.pool.name, device))
    return found


def plain_totals(
    node: Node, device_class: DeviceClass, slices: Iterable[ResourceSlice], claims: Any
) -> tuple[int, int]:
    """As calculateDRAResourceTotals goes through everything for one node."""
    taken_ids = {
        (result.driver, result.pool, result.device)
        for claim in claims
        for result in claim.status.allocation.devices.results
    }
    total = taken = 0
    for driver, pool, device in plain_devices(node, slices):
        facts = DeviceFacts(driver, device.attributes, device.capacity, False)
        try:
            if not all(Selector(s.cel.expression).matches(facts) for s in device_class.spec.selectors if s.cel):
                continue
        except InvalidObjectError:
            return 0, 0
        total += 1
        taken += (driver, pool, device.name) in taken_ids
    return total, taken


NODES = tuple(f"n{k}" for k in range(3))
WHERE = st.one_of(
    st.sampled_from(NODES).map(lambda name: {"nodeName": name}),
    st.sampled_from([{"allNodes": True}, in_zone("z1"), in_zone("z2"), {}]),
)
MODELS = st.sampled_from(("h100", "h100", "h100", "t4", None))
DEVICES = st.lists(st.tuples(MODELS, WHERE), min_size=1, max_size=3)
CHANGES = st.one_of(
    st.builds(make_node, st.sampled_from(NODES), zone=st.sampled_from(("z1", "z2"))),
    st.builds(
        lambda number, where, devices: slice_of(
            where, *(model(f"d{k}", of) for k, (of, _) in enumerate(devices)), name=f"pool{number}"
        ),
        st.integers(0, 2),
        WHERE,
        DEVICES,
    ),
    st.builds(
        lambda number, devices: slice_of(
            {"perDeviceNodeSelection": True},
            *(model(f"d{k}", of, **where) for k, (of, where) in enumerate(devices)),
            name=f"pool{number}",
        ),
        st.integers(0, 2),
        DEVICES,
    ),
    st.builds(
        lambda number, pool, names: owner_of(f"pool{pool}", *names, claim=f"claim{number}"),
        st.integers(0, 2),
        st.integers(0, 2),
        st.lists(st.sampled_from(("d0", "d1", "d2")), unique=True, max_size=2),
    ),
    st.builds(
        lambda selectors: make_device_class("gpu", selectors=selectors, extended_resource=GPU),
        st.sampled_from(([], [IS_H100])),
    ),
)


@settings(max_examples=60)
@given(
    changes=st.lists(st.tuples(CHANGES, st.sampled_from((True, True, False))), min_size=8, max_size=24),
    forgets=st.booleans(),
)
def test_agrees_with_the_plain_rule(changes: list[tuple[Any, bool]], forgets: bool) -> None:
    """Whatever comes, changes and goes: what was counted before never shows."""
    handle = FakeHandle().load(make_device_class("gpu", extended_resource=GPU))
    if forgets:
        ClaimTracker.shared(handle.objects, counts_shares=True).touched = Journal(2)
        offered = handle.objects.of(ResourceSlice)
        assert not offered.changes.position  # it is written from now on
        handle.cluster.nodes.node_changes, offered._changes = Journal(2), Journal(2)
    totals = DeviceTotals(handle)
    for changed, comes in changes:
        if comes or isinstance(changed, DeviceClass):
            handle.load(changed)
        elif handle.objects.of(type(changed)).remove(changed) is not None and isinstance(changed, Node):
            handle.cluster.remove_node(changed.metadata.name)
        device_class = handle.objects.of(DeviceClass).get("gpu")
        slices, claims = handle.objects.of(ResourceSlice), handle.objects.of(ResourceClaim)
        assert device_class is not None
        plain = {n.metadata.name: plain_totals(n, device_class, slices, claims) for n in handle.objects.of(Node)}
        assert counted(totals, handle) == plain
