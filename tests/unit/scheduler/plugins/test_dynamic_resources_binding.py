"""DynamicResources from Reserve to PreBind: what is held, what is written, and what is taken back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.scheduler.plugins.store_handlers import StoreHandlers

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.errors import ApiStatusError
from kubesched.objects import Pod, ResourceClaim, convert
from kubesched.scheduler.columns import EVERYTHING
from kubesched.scheduler.framework import CycleState, SilentDeviceObserver, Status
from kubesched.scheduler.plugins.dynamic_resources import DynamicResources
from kubesched.scheduler.plugins.support.devices.claim_tracker import ClaimTracker
from kubesched.testing import make_node, make_pod
from kubesched.testing.device_builders import make_device_class, make_resource_claim, make_resource_slice
from kubesched.testing.handle import FakeHandle

FINALIZER = "resource.kubernetes.io/delete-protection"
POOL = ("gpu.example.com", "a")


class VersionedApi(MemoryApi):
    """Counts versions, gives names and uids, and refuses patches of outdated objects, as API servers do."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 100
        self.conflicts = 0

    async def patch(self, kind: Any, name: str, body: Any, *, namespace: str = "", subresource: str = "") -> Any:
        if self.conflicts and "resourceVersion" in body.get("metadata", {}):
            self.conflicts -= 1
            raise ApiStatusError(409, "Conflict", "the object has been modified")
        self.version += 1
        metadata = {**body.get("metadata", {}), "resourceVersion": str(self.version)}
        return await super().patch(kind, name, {**body, "metadata": metadata}, namespace=namespace)

    async def create(self, obj: Any) -> Any:
        name = f"{obj.metadata.generate_name}0"
        return await super().create(replace(obj, metadata=replace(obj.metadata, name=name, uid=name)))


@dataclass
class World:
    """A cluster with one node, its devices, and a pod on its way."""

    pod: Pod
    api: VersionedApi = field(default_factory=VersionedApi)
    clock: VirtualClock = field(default_factory=VirtualClock)
    observer: ListedDevices = field(default_factory=lambda: ListedDevices())

    def __post_init__(self) -> None:
        self.handle = FakeHandle(api=self.api, clock=self.clock, device_observer=self.observer)  # type: ignore[arg-type]  # another ApiWriter
        self.api.connect(self.handle.objects, StoreHandlers(self.handle.objects))
        self.handle.load(make_node("a"), make_device_class("gpu", extended_resource="example.com/gpu"), self.pod)
        self.plugin = DynamicResources(None, self.handle)
        self.state = CycleState(self.handle.cluster.templates.info(self.pod))

    def reserve(self) -> None:
        """PreFilter, Filter and Reserve on node a."""
        nodes = self.handle.cluster.view()
        assert self.plugin.pre_filter(self.state, self.state.pod, nodes).is_success
        verdict = self.plugin.filter_nodes(self.state, self.state.pod.template, nodes)
        assert verdict.status(0, "").is_success, verdict.status(0, "")
        assert self.plugin.reserve(self.state, self.pod, "a").is_success

    async def pre_bind(self) -> Status:
        return await self.plugin.pre_bind(self.state, self.pod, "a")

    def claims(self) -> list[ResourceClaim]:
        return list(self.handle.objects.of(ResourceClaim))


def make_user() -> Pod:
    spec = {"containers": [{"name": "c"}], "resourceClaims": [{"name": "d", "resourceClaimName": "claim"}]}
    return convert({"metadata": {"name": "pod", "namespace": "default", "uid": "pod"}, "spec": spec}, Pod)


def world(*devices: Any) -> World:
    made = World(make_user())
    made.handle.load(make_resource_slice(node="a", devices=devices or ("x",)), make_resource_claim())
    return made


async def test_allocation_is_written() -> None:
    """PreBind writes the finalizer, the allocation and the reservation; the devices stay taken."""
    w = world()
    w.reserve()
    assert (await w.pre_bind()).is_success
    (claim,) = w.claims()
    assert claim.metadata.finalizers == (FINALIZER,)
    assert [consumer.uid for consumer in claim.status.reserved_for] == ["pod"]
    assert claim.status.allocation is not None
    assert [result.device for result in claim.status.allocation.devices.results] == ["x"]
    selector = claim.status.allocation.node_selector
    assert selector is not None
    assert selector.node_selector_terms[0].match_fields[0].values == ("a",)
    assert claim.status.allocation.allocation_timestamp is not None


async def test_a_conflict_is_retried() -> None:
    """A claim that changed meanwhile is read again."""
    w = world()
    w.reserve()
    w.api.conflicts = 2
    binding = asyncio.create_task(w.pre_bind())
    for _ in range(4):
        await _advance(w.clock, 1)
    assert (await binding).is_success


async def test_a_claim_allocated_by_somebody_else_fails() -> None:
    """Whoever was faster wins; the devices of the loser are free again."""
    w = world()
    w.reserve()
    (claim,) = w.claims()
    w.handle.load(make_resource_claim(allocation={"devices": {}}))
    w.state.read("DynamicResources", object).claims.claims[0] = w.claims()[0]  # type: ignore[attr-defined]
    status = await w.pre_bind()
    assert status.message == f"claim {claim.metadata.key} got allocated elsewhere in the meantime"


async def test_unreserve_before_anything_was_written() -> None:
    """The devices are free again, for another attempt."""
    w = world()
    w.reserve()
    w.plugin.unreserve(w.state, w.pod, "a")
    w.plugin.unreserve(w.state, w.pod, "a")
    w.state = CycleState(w.state.pod)
    w.reserve()


async def test_unreserve_takes_the_reservation_back() -> None:
    """The claim keeps its allocation, but the pod no longer uses it."""
    w = world()
    w.reserve()
    await w.pre_bind()
    w.plugin.unreserve(w.state, w.pod, "a")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    (claim,) = w.claims()
    assert claim.status.reserved_for == ()
    assert claim.status.allocation is not None


async def test_another_pod_waits_for_a_pending_allocation() -> None:
    """A claim whose allocation is on its way cannot be used by others yet."""
    w = world()
    w.reserve()
    other = CycleState(w.state.pod)
    status = w.plugin.pre_filter(other, other.pod, w.handle.cluster.view())
    assert status == Status.unresolvable("resource claim default/claim is in the process of being allocated")


async def test_extended_resources_get_a_claim() -> None:
    """The special claim is created, written like any other, and named in the pod's status."""
    w = World(make_pod("pod", requests={"example.com/gpu": 2}))
    w.handle.load(make_resource_slice(node="a", devices=("x", "y", "z")))
    w.reserve()
    assert (await w.pre_bind()).is_success
    (claim,) = w.claims()
    assert claim.metadata.name == "pod-extended-resources-0"
    assert claim.status.allocation is not None
    assert [result.device for result in claim.status.allocation.devices.results] == ["x", "y"]
    pod = w.handle.objects.of(Pod).get("pod", "default")
    assert pod is not None
    status = pod.status.extended_resource_claim_status
    assert status is not None
    assert status.resource_claim_name == claim.metadata.name
    assert [m.request_name for m in status.request_mappings] == ["container-0-request-0"]
    w.plugin.unreserve(w.state, w.pod, "a")
    for _ in range(5):
        await asyncio.sleep(0)
    assert w.claims() == []


WAITS = {"name": "x", "bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}


def report(w: World, condition: str) -> None:
    """The driver says something about the device."""
    (claim,) = w.claims()
    reported = {"type": condition, "status": "True", "reason": "Why", "message": "what"}
    device = {"driver": POOL[0], "pool": POOL[1], "device": "x", "conditions": [reported]}
    status = convert({"devices": [device]}, type(claim.status))
    metadata = replace(claim.metadata, resource_version="999")
    changed = replace(claim, metadata=metadata, status=replace(claim.status, devices=status.devices))
    w.handle.objects.of(ResourceClaim).set(changed)


class ListedDevices(SilentDeviceObserver):
    def __init__(self) -> None:
        self.waits: list[tuple[str, float, bool]] = []

    def awaited(self, profile: str, driver: str, result: str, seconds: float, *, has_conditions: bool) -> None:
        self.waits.append((result, seconds, has_conditions))


async def test_devices_that_must_get_ready() -> None:
    """PreBind waits for the binding conditions, and says so in an event."""
    w = world(WAITS)
    w.reserve()
    binding = asyncio.create_task(w.pre_bind())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not binding.done()
    assert w.handle.recorder.events[0][2] == "BindingConditionsPending"
    report(w, "ready")
    await _advance(w.clock, 5)
    assert (await binding).is_success
    assert w.observer.waits == [("success", 5.0, True)]


async def test_devices_that_fail_to_get_ready() -> None:
    """A failure condition ends the wait; the next attempt may then give the claim back."""
    w = world(WAITS)
    w.reserve()
    binding = asyncio.create_task(w.pre_bind())
    for _ in range(20):
        await asyncio.sleep(0)
    report(w, "broken")
    await _advance(w.clock, 5)
    assert (await binding).message == 'device binding failed: claim=claim, reason=Why, message="what"'
    assert w.observer.waits == [("failure", 5.0, True)]


async def test_devices_that_take_too_long() -> None:
    """The wait ends with the binding timeout."""
    w = world(WAITS)
    w.reserve()
    binding = asyncio.create_task(w.pre_bind())
    for _ in range(200):
        await _advance(w.clock, 5)
        if binding.done():
            break
    assert "device binding timeout" in (await binding).message
    assert [result for result, _, _ in w.observer.waits] == ["timeout"]


@pytest.mark.parametrize(
    ("seconds", "looks"),
    [
        pytest.param(3.0, [0.0], id="less than the time between two looks"),
        pytest.param(5.0, [0.0], id="just that time"),
        pytest.param(12.0, [0.0, 5.0, 10.0], id="more"),
    ],
)
async def test_the_wait_fails_at_the_deadline_itself(
    seconds: float, looks: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks at once and every five seconds, and does not give up early because the next look would be too late."""
    w = world(WAITS)
    seen: list[float] = []

    def look(attempt: object) -> bool:
        seen.append(w.clock.monotonic())
        return False

    pre_binding = w.plugin._pre_binding
    monkeypatch.setattr(pre_binding, "_timeout", seconds)
    monkeypatch.setattr(pre_binding, "_all_ready", look)
    w.reserve()
    binding = asyncio.create_task(w.pre_bind())
    for _ in range(20):
        await asyncio.sleep(0)
    await _advance(w.clock, seconds - 0.01)
    assert not binding.done()
    await _advance(w.clock, 0.01)
    assert (await binding).message == "device binding timeout: context deadline exceeded"
    assert seen == looks
    assert w.observer.waits == [("timeout", seconds, True)]


async def _advance(clock: VirtualClock, seconds: float) -> None:
    await clock.advance(seconds)
    for _ in range(20):
        await asyncio.sleep(0)


def allocated(version: str, device: str = "x") -> ResourceClaim:
    result = {"request": "req", "driver": POOL[0], "pool": POOL[1], "device": device}
    claim = make_resource_claim(allocation={"devices": {"results": [result]}})
    return replace(claim, metadata=replace(claim.metadata, resource_version=version))


def test_the_claim_tracker_counts_each_claim_once() -> None:
    """Pending, assumed and known are three views of one allocation."""
    store = FakeHandle().objects.of(ResourceClaim)
    claim_tracker = ClaimTracker(store, counts_shares=True)
    store.set(make_resource_claim())
    claim_tracker.add_pending(allocated("1"), "pod")
    assert claim_tracker.assume(allocated("2"))
    assert claim_tracker.remove_pending("default/claim", "pod")
    assert claim_tracker.usage(POOL).owners == {"x": 1}
    store.set(replace(make_resource_claim(), metadata=replace(make_resource_claim().metadata, resource_version="1")))
    assert claim_tracker.usage(POOL).owners == {"x": 1}, "an outdated event does not undo what was written since"
    store.set(allocated("2"))
    assert claim_tracker.usage(POOL).owners == {"x": 1}
    changed = claim_tracker.touched.since(0)
    assert changed is not EVERYTHING
    assert set(changed) == {POOL}
    store.remove(allocated("2"))
    assert not claim_tracker.usage(POOL).owners
    assert not claim_tracker.remove_pending("default/claim", "pod")
